#include "lib/measure/measure_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
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

}  // namespace

ChunkChoice ChooseChunk(const ChunkPolicy& policy, double per_call_s,
                        double clock_pair_s, int64_t num_items) {
  ChunkChoice choice;
  choice.count = num_items;
  if (policy.fixed > 0) {
    choice.chunk = policy.fixed;
    const int64_t wanted = policy.fixed * policy.min_samples;
    choice.count = (wanted + num_items - 1) / num_items * num_items;
    choice.count = std::max(choice.count, num_items);
    return choice;
  }
  if (per_call_s >= policy.chunk_below_s) return choice;
  const double call_s = std::max(per_call_s - clock_pair_s, kShortestCall);
  choice.chunk = std::max<int64_t>(
      1, static_cast<int64_t>(
             std::ceil(clock_pair_s / (policy.max_clock_share * call_s))));
  const int64_t passes = (choice.chunk + num_items - 1) / num_items;
  choice.count = std::max<int64_t>(passes, 1) * num_items;
  return choice;
}

absl::StatusOr<Preflight> RunPreflight(const PreflightPolicy& policy,
                                       int64_t num_items, uint64_t seed,
                                       const std::string& unit,
                                       Subject* subject) {
  Preflight seen;
  for (int pass = 0; pass < policy.passes; ++pass) {
    TimeRequest request;
    request.count = std::min(std::max(policy.items, policy.chunk), num_items);
    request.chunk = policy.chunk;
    request.seed = seed;
    request.limit_s = std::max(policy.max_s - seen.elapsed_s, 1e-9);
    request.hang_s = policy.hang_s;
    ASSIGN_OR_RETURN(const TimeReply timing, subject->Time(request));
    seen.elapsed_s += ElapsedOf(timing);
    seen.items += timing.items();
    if (seen.elapsed_s > policy.max_s) break;
  }
  seen.per_item_s =
      seen.elapsed_s / static_cast<double>(std::max<int64_t>(seen.items, 1));
  const bool too_long = seen.elapsed_s > policy.max_s;
  const bool slow = seen.per_item_s >= policy.slow_threshold_s;
  seen.stops_early = policy.slow_skip && (too_long || slow);
  if (seen.stops_early) {
    seen.reason = absl::StrFormat(
        "%.3g s per %s over %d in the preflight; %s", seen.per_item_s, unit,
        seen.items,
        slow ? absl::StrFormat("from %.3g s on it counts as slow",
                               policy.slow_threshold_s)
             : absl::StrFormat("it took more than %.3g s", policy.max_s));
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

}  // namespace

absl::StatusOr<RunResult> MeasureRun(const RunRequest& request,
                                     Subject* subject, NoiseWatch* noise) {
  const ChunkChoice choice =
      ChooseChunk(request.chunk, request.per_call_s, subject->clock_pair_s(),
                  request.num_items);
  TimeRequest time;
  time.seed = request.seed;
  time.hang_s = request.hang_s;
  time.cold = request.cold;
  if (request.rewarm_items > 0) {
    time.count = std::min(std::max(request.rewarm_items, request.chunk.fixed),
                          request.num_items);
    time.chunk = std::max<int64_t>(request.chunk.fixed, 1);
    RETURN_IF_ERROR(subject->Time(time).status());
  }
  time.count = choice.count;
  time.chunk = choice.chunk;
  time.hang_s += kHangFactor * request.per_call_s * choice.count;
  const NoiseCounters before = subject->Count();
  ASSIGN_OR_RETURN(TimeReply timing, subject->Time(time));
  const NoiseCounters after = subject->Count();
  RunResult result;
  result.chunk = choice.chunk;
  result.elapsed_s = ElapsedOf(timing);
  result.timing = std::move(timing);
  result.noise = noise->Judge(before, after, result.elapsed_s);
  result.energy = EnergyBetween(before.energy, after.energy);
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
