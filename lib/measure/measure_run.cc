#include "lib/measure/measure_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/measure/subject.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// A lower bound: the time of a call to an empty function.
constexpr double kShortestCall = 1e-9;
// A run with a minimum length makes no more calls, because its samples are kept
// in memory.
constexpr double kMostCalls = 1 << 24;

// The smallest multiple of `num_items` that is at least `calls`, but not 0.
int64_t WholePasses(double calls, int64_t num_items) {
  const double passes = std::ceil(calls / static_cast<double>(num_items));
  return num_items * std::max<int64_t>(1, static_cast<int64_t>(passes));
}

}  // namespace

int64_t CallsOnGpu(const ChunkPolicy& policy, double per_call_s) {
  if (policy.enough_s <= 0) return policy.fixed;
  const double calls =
      std::ceil(policy.enough_s / std::max(per_call_s, kShortestCall));
  return std::min<int64_t>(policy.fixed, std::max(1.0, calls));
}

ChunkChoice ChooseChunk(const ChunkPolicy& policy, double per_call_s,
                        double clock_pair_s, int64_t num_items) {
  ChunkChoice choice;
  const double calls =
      std::min(policy.min_s / std::max(per_call_s, kShortestCall), kMostCalls);
  choice.count = WholePasses(calls, num_items);
  if (policy.fixed > 0) {
    choice.chunk = CallsOnGpu(policy, per_call_s);
    const int64_t wanted = choice.chunk * policy.min_samples;
    choice.count = std::max(choice.count, WholePasses(wanted, num_items));
    return choice;
  }
  if (per_call_s >= policy.chunk_below_s) return choice;
  const double call_s = std::max(per_call_s - clock_pair_s, kShortestCall);
  choice.chunk = std::max<int64_t>(
      1, static_cast<int64_t>(
             std::ceil(clock_pair_s / (policy.max_clock_share * call_s))));
  choice.count = std::max(choice.count, WholePasses(choice.chunk, num_items));
  return choice;
}

absl::StatusOr<Preflight> RunPreflight(const PreflightPolicy& policy,
                                       int64_t num_items, uint64_t seed,
                                       const std::string& unit,
                                       Subject* subject) {
  Preflight seen;
  double waited_s = 0;
  double least_s = std::numeric_limits<double>::infinity();
  if (policy.first_items > 0) {
    TimeRequest request;
    request.count = std::min(policy.first_items, num_items);
    request.chunk = request.count;
    request.seed = seed;
    request.hang_s = policy.hang_s;
    RETURN_IF_ERROR(subject->Time(request).status());
  }
  for (int pass = 0; pass < policy.passes; ++pass) {
    TimeRequest request;
    request.count = std::min(std::max(policy.items, policy.chunk), num_items);
    request.chunk = policy.chunk;
    request.seed = seed;
    request.limit_s = std::max(policy.max_s - seen.elapsed_s, 1e-9);
    request.hang_s = policy.hang_s;
    ASSIGN_OR_RETURN(const TimeReply timing, subject->Time(request));
    const double elapsed_s = ElapsedOf(timing);
    seen.elapsed_s += elapsed_s;
    waited_s += std::clamp(timing.waited_s(), 0.0, elapsed_s);
    seen.items += timing.items();
    for (const double sample_s : timing.samples_s()) {
      least_s =
          std::min(least_s, sample_s / static_cast<double>(request.chunk));
    }
    if (seen.elapsed_s > policy.max_s) break;
  }
  // A quick transform on a busy machine is not slow. Waits between samples
  // count too, so there is no less than the quickest sample.
  seen.per_item_s =
      std::max(seen.items > 0 ? least_s : 0,
               (seen.elapsed_s - waited_s) /
                   static_cast<double>(std::max<int64_t>(seen.items, 1)));
  const bool too_long = seen.elapsed_s > policy.max_s;
  const bool slow = seen.per_item_s >= policy.slow_threshold_s;
  seen.stops_early = policy.slow_skip && (too_long || slow);
  if (slow) seen.slow_from_s = policy.slow_threshold_s;
  if (seen.stops_early) {
    seen.reason = absl::StrFormat(
        "%.3g s per %s over %d in the preflight; %s", seen.per_item_s, unit,
        seen.items,
        slow ? absl::StrFormat("from %.3g s on it counts as slow",
                               policy.slow_threshold_s)
             : absl::StrFormat("it took more than %.3g s", policy.max_s));
    if (waited_s > 0.05 * seen.elapsed_s) {
      absl::StrAppendFormat(
          &seen.reason, "; it waited %.3g s for a processor besides", waited_s);
    }
  }
  return seen;
}

namespace {

double MeanOfLast(const std::vector<double>& passes, size_t count) {
  count = std::min(count, passes.size());
  return std::accumulate(passes.end() - count, passes.end(), 0.0) /
         static_cast<double>(count);
}

bool IsStable(const WarmUpPolicy& policy, const std::vector<double>& passes) {
  const size_t window = policy.window;
  if (passes.size() < window * policy.min_windows) return false;
  const double all = MeanOfLast(passes, passes.size() - window);
  return std::abs(MeanOfLast(passes, window) - all) <=
         policy.stable_within * all;
}

// Whether the last readings of a GPU's clock are close to each other. True if
// there are none.
bool ClockIsStable(const WarmUpPolicy& policy,
                   const std::vector<int64_t>& clocks) {
  if (policy.clock_within == 0 || clocks.empty()) return true;
  const size_t window = std::min<size_t>(policy.window, clocks.size());
  const auto [low, high] =
      std::minmax_element(clocks.end() - window, clocks.end());
  return static_cast<double>(*high - *low) <=
         policy.clock_within * static_cast<double>(*high);
}

}  // namespace

absl::StatusOr<WarmUp> RunWarmUp(const WarmUpPolicy& policy, int64_t num_items,
                                 uint64_t seed, Subject* subject) {
  WarmUp warm_up;
  std::vector<double> passes;
  std::vector<int64_t> clocks;
  TimeRequest request;
  request.count =
      std::min(std::max(policy.subset_items, policy.chunk), num_items);
  request.chunk = policy.chunk;
  request.cold = policy.cold;
  request.seed = seed;
  request.hang_s = policy.hang_s;
  while (warm_up.passes < policy.max_passes && !warm_up.stable &&
         (warm_up.passes == 0 || warm_up.elapsed_s < policy.max_s)) {
    ASSIGN_OR_RETURN(const TimeReply timing, subject->Time(request));
    const double elapsed_s = ElapsedOf(timing);
    passes.push_back(elapsed_s / static_cast<double>(timing.items()));
    warm_up.elapsed_s += elapsed_s;
    ++warm_up.passes;
    if (!timing.device().clocks_mhz().empty()) {
      clocks.push_back(*timing.device().clocks_mhz().rbegin());
    }
    warm_up.stable = IsStable(policy, passes) && ClockIsStable(policy, clocks);
  }
  warm_up.per_item_s = MeanOfLast(passes, policy.window);
  if (num_items <= request.count) return warm_up;
  request.count = num_items;
  request.limit_s = policy.max_s;
  request.hang_s += policy.max_s;
  for (int pass = 0; pass < policy.full_passes; ++pass) {
    ASSIGN_OR_RETURN(const TimeReply timing, subject->Time(request));
    warm_up.elapsed_s += ElapsedOf(timing);
  }
  return warm_up;
}

namespace {

// Items differ in size, so the first ones predict the others poorly.
constexpr double kHangFactor = 10;
// A repetition takes about this long at most: what disturbs a core comes and
// goes within milliseconds to seconds.
constexpr double kRepetitionSeconds = 0.02;

// Replaces samples of `timing` that lie next to slow probes. `pass` is the
// request that gave them.
class SlowSamples {
 public:
  SlowSamples(const std::string& worker, const TimeRequest& pass,
              Subject* subject, SpeedWatch* speed, TimeReply* timing)
      : worker_(worker),
        pass_(pass),
        subject_(subject),
        speed_(speed),
        timing_(timing) {
    speed_->Note(worker_, *timing_);
    around_ = speed_->Around(worker_, *timing_);
    chains_s_.assign(timing->chains_s().begin(), timing->chains_s().end());
  }

  absl::Status Repeat() {
    absl::Status status;
    const auto step = [this, &status] { status = RepeatSome(); };
    while (FindSlow() && speed_->quiet()->Spend(step)) {
      RETURN_IF_ERROR(status);
      if (in_vain_) speed_->quiet()->Pause();
    }
    return absl::OkStatus();
  }

  std::optional<CoreSpeed> Speed() const {
    if (around_.empty()) return std::nullopt;
    CoreSpeed speed;
    std::vector<double> probes = around_;
    speed.set_probe(Summarize(absl::MakeSpan(probes)).median);
    speed.set_slow_above(speed_->SlowAbove(worker_));
    std::vector<double> chains_s = chains_s_;
    speed.set_chain_s(Summarize(absl::MakeSpan(chains_s)).median);
    double slow_s = 0;
    for (size_t i = 0; i < around_.size(); ++i) {
      if (IsSlow(i)) slow_s += timing_->samples_s(i);
    }
    const double elapsed_s = ElapsedOf(*timing_);
    speed.set_slow_share(elapsed_s > 0 ? slow_s / elapsed_s : 0);
    speed.set_repeated_samples(repeated_);
    return speed;
  }

 private:
  bool IsSlow(size_t i) const {
    return around_[i] > speed_->SlowAbove(worker_);
  }

  // Sets `begin_` and `end_` to the next slow samples that are worth a request.
  bool FindSlow() {
    const size_t count = around_.size();
    begin_ = 0;
    while (begin_ < count && !IsSlow(begin_)) ++begin_;
    double predicted_s = 0;
    end_ = begin_;
    while (end_ < count && IsSlow(end_) && predicted_s < kRepetitionSeconds) {
      predicted_s += timing_->samples_s(end_++);
    }
    return begin_ < count;
  }

  absl::Status RepeatSome() {
    // The sample before them warms the caches.
    const size_t first = begin_ == 0 ? 0 : begin_ - 1;
    TimeRequest request = pass_;
    request.first = pass_.first + static_cast<int64_t>(first) * pass_.chunk;
    request.count =
        std::min<int64_t>((end_ - first) * pass_.chunk,
                          timing_->items() - request.first + pass_.first);
    // Other draws of random parameters than those of the pass's first items.
    request.seed = pass_.seed + ++requests_;
    ASSIGN_OR_RETURN(const TimeReply again, subject_->Time(request));
    speed_->Note(worker_, again);
    if (timing_->has_waited_s()) {
      timing_->set_waited_s(timing_->waited_s() + again.waited_s());
    }
    const std::vector<double> around = speed_->Around(worker_, again);
    chains_s_.insert(chains_s_.end(), again.chains_s().begin(),
                     again.chains_s().end());
    in_vain_ = true;
    for (size_t i = begin_; i < end_ && i - first < around.size(); ++i) {
      if (around[i - first] > speed_->SlowAbove(worker_)) continue;
      timing_->set_samples_s(i, again.samples_s(i - first));
      around_[i] = around[i - first];
      ++repeated_;
      in_vain_ = false;
    }
    return absl::OkStatus();
  }

  const std::string worker_;
  const TimeRequest pass_;
  Subject* const subject_;
  SpeedWatch* const speed_;
  TimeReply* const timing_;
  // The larger probe next to each sample.
  std::vector<double> around_;
  std::vector<double> chains_s_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t requests_ = 0;
  int64_t repeated_ = 0;
  // Whether the last repetition replaced nothing.
  bool in_vain_ = false;
};

}  // namespace

absl::StatusOr<RunResult> MeasureRun(const RunRequest& request,
                                     Subject* subject, NoiseWatch* noise,
                                     SpeedWatch* speed) {
  const ChunkChoice choice =
      ChooseChunk(request.chunk, request.per_call_s, subject->clock_pair_s(),
                  request.num_items);
  TimeRequest time;
  time.seed = request.seed;
  time.hang_s = request.hang_s;
  time.cold = request.cold;
  if (request.rewarm_items > 0) {
    time.chunk = request.chunk.fixed > 0 ? choice.chunk : 1;
    time.count =
        std::min(std::max(request.rewarm_items, time.chunk), request.num_items);
    RETURN_IF_ERROR(subject->Time(time).status());
  }
  time.count = choice.count;
  time.chunk = choice.chunk;
  time.hang_s += kHangFactor * request.per_call_s * choice.count;
  NoiseCounters before = subject->Count();
  ASSIGN_OR_RETURN(TimeReply timing, subject->Time(time));
  NoiseCounters after = subject->Count();
  RunResult result;
  // The pass alone, like its energy; repeated samples do not count.
  if (before.process.cpu_s && after.process.cpu_s) {
    result.cpu_s = *after.process.cpu_s - *before.process.cpu_s;
  }
  result.chunk = choice.chunk;
  result.energy = EnergyBetween(before.energy, after.energy);
  double slow_share = 0;
  if (speed != nullptr) {
    SlowSamples samples(request.worker, time, subject, speed, &timing);
    RETURN_IF_ERROR(samples.Repeat());
    result.core_speed = samples.Speed();
    if (result.core_speed.has_value()) {
      slow_share = result.core_speed->slow_share();
      if (result.core_speed->repeated_samples() > 0) after = subject->Count();
    }
  }
  result.elapsed_s = ElapsedOf(timing);
  // Linux from 6.12 on counts as waiting what a process sleeps between two
  // commands, if it shares a processor with this one.
  if (timing.has_waited_s()) {
    before.process.run_delay_s = 0;
    after.process.run_delay_s = timing.waited_s();
  }
  result.timing = std::move(timing);
  result.noise = noise->Judge(before, after, result.elapsed_s, slow_share);
  return result;
}

bool MedianIsWide(std::vector<double> values, double within) {
  if (within <= 0 || values.empty()) return false;
  const Summary summary = Summarize(absl::MakeSpan(values));
  return summary.interval.has_value() &&
         summary.interval->high - summary.interval->low >
             2 * within * summary.median;
}

}  // namespace feedrate
