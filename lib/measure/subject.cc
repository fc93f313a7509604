#include "lib/measure/subject.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/machine/timing_checks.h"
#include "lib/records/worker.pb.h"

namespace feedrate {

double ElapsedOf(const TimeReply& timing) {
  return std::accumulate(timing.samples_s().begin(), timing.samples_s().end(),
                         0.0);
}

namespace {

template <typename Number>
double Rise(const std::optional<Number>& before,
            const std::optional<Number>& after) {
  if (!before.has_value() || !after.has_value()) return 0;
  return std::max(0.0, static_cast<double>(*after - *before));
}

}  // namespace

FoundNoise NoiseWatch::JudgeLoader(NoiseCounters before, NoiseCounters after,
                                   double elapsed_s, double cpu_s) {
  before.process = {};
  after.process = {};
  // Not absent: then all that was busy would count as that of others.
  before.process.cpu_s = 0;
  after.process.cpu_s = cpu_s;
  return Judge(before, after, elapsed_s);
}

FoundNoise NoiseWatch::Judge(const NoiseCounters& before,
                             const NoiseCounters& after, double elapsed_s,
                             double slow_share) {
  FoundNoise found;
  if (elapsed_s <= 0) return found;
  std::vector<std::string>& warnings = found.warnings;
  const double wall_s = std::max(after.now_s - before.now_s, elapsed_s);
  const bool long_enough = elapsed_s >= policy_.min_s;
  const double cpu_s = Rise(before.process.cpu_s, after.process.cpu_s);
  const double wait_s =
      Rise(before.process.run_delay_s, after.process.run_delay_s);
  const double waited = wait_s >= policy_.min_wait_s ? wait_s / wall_s : 0;
  const double processors = wall_s * std::max(1, after.processors.processors);
  const double stolen =
      long_enough ? Rise(before.processors.steal_s, after.processors.steal_s) /
                        processors
                  : 0;
  const double others =
      long_enough
          ? (Rise(before.processors.busy_s, after.processors.busy_s) - cpu_s) /
                processors
          : 0;
  const double lost = std::max(waited, stolen);
  const bool faulted =
      Rise(before.process.major_faults, after.process.major_faults) > 0;
  const bool slow_core =
      slow_share > 0 && slow_share >= policy_.contended_share;
  if (lost >= policy_.contended_share || others >= policy_.others_share ||
      slow_core) {
    warnings.push_back("contended");
  }
  const double moves =
      Rise(before.process.migrations, after.process.migrations);
  if (moves >= 2 && moves >= policy_.migrations_per_s * elapsed_s) {
    warnings.push_back("migrated");
  }
  if (single_thread_ && long_enough &&
      cpu_s > policy_.multithreaded_cores * wall_s) {
    warnings.push_back("multithreaded");
  }
  if (lost >= policy_.noisy_share || faulted) warnings.push_back("noisy");
  const double cycles = Rise(before.cycles, after.cycles);
  const double clock_hz = cpu_s > 0 ? cycles / cpu_s : 0;
  best_clock_hz_ = std::max(best_clock_hz_, clock_hz);
  const bool slow_clock = long_enough && clock_hz > 0 &&
                          clock_hz < policy_.throttled_clock * best_clock_hz_;
  if (slow_clock || after.throttled_periods > before.throttled_periods) {
    warnings.push_back("throttled");
    found.causes.push_back("throttling");
  }
  if (stolen >= policy_.contended_share) found.causes.push_back("steal");
  if (slow_core) found.causes.push_back("slow_core");
  if (faulted) found.causes.push_back("paging");
  if (waited >= policy_.contended_share || others >= policy_.others_share) {
    found.causes.push_back("load");
  }
  std::reverse(found.causes.begin(), found.causes.end());
  return found;
}

namespace {

// A look must see some ticks of the kernel's clock, of 10 ms.
constexpr absl::Duration kLook = absl::Milliseconds(100);
// Share of the processors that others may use. One other process disturbs a
// machine of two processors, but not one of 64.
constexpr double kQuietShare = 0.25;

}  // namespace

std::vector<std::string> LookForNoise(double steal_share) {
  const Root root;
  const LoadSample load = SampleLoad(root, kLook, absl::SleepFor);
  const ProcessorCounters processors = ReadProcessorCounters(root);
  std::vector<std::string> causes;
  // What cannot be read does not disturb.
  if (load.others_running.value_or(0) >=
      kQuietShare * std::max(1, processors.processors)) {
    causes.push_back("load");
  }
  if (load.steal_share.value_or(0) >= steal_share) causes.push_back("steal");
  return causes;
}

bool QuietWait::MaySpend(double seconds) const {
  return !(options_.interrupted != nullptr && options_.interrupted()) &&
         waited_s_ + seconds <= options_.budget_s();
}

bool QuietWait::Spend(const std::function<void()>& step) {
  const double start_s = options_.now_s();
  if (options_.budget_s() <= 0 || !MaySpend(0)) return false;
  step();
  waited_s_ += options_.now_s() - start_s;
  return true;
}

void QuietWait::Pause() {
  if (options_.pause != nullptr) Spend(options_.pause);
}

double QuietWait::Wait() {
  const double start_s = options_.now_s();
  const double waited_before_s = waited_s_;
  while (!quiet_ && MaySpend(absl::ToDoubleSeconds(kLook))) {
    causes_ = options_.look();
    quiet_ = causes_.empty();
    waited_s_ = waited_before_s + options_.now_s() - start_s;
  }
  return waited_s_ - waited_before_s;
}

namespace {

// Clocks of a core differ by less than this factor; what takes longer was
// interrupted.
constexpr double kClocks = 1.3;

}  // namespace

std::optional<double> SpeedWatch::ProbeOf(const Known& known, double probe_s,
                                          double chain_s) {
  if (chain_s <= 0 || chain_s > kClocks * known.chain_s) return std::nullopt;
  return probe_s / chain_s;
}

void SpeedWatch::Note(const std::string& worker, const TimeReply& timing) {
  if (timing.chains_s().empty()) return;
  Known& known = known_[worker];
  for (const double chain_s : timing.chains_s()) {
    if (chain_s > 0) known.chain_s = std::min(known.chain_s, chain_s);
  }
  for (const double probe_s : timing.probes_s()) {
    if (probe_s > 0) known.probe_s = std::min(known.probe_s, probe_s);
  }
}

double SpeedWatch::SlowAbove(const std::string& worker) const {
  const auto known = known_.find(worker);
  return known == known_.end()
             ? std::numeric_limits<double>::infinity()
             : (1 + slow_core_) * known->second.probe_s / known->second.chain_s;
}

std::vector<double> SpeedWatch::Around(const std::string& worker,
                                       const TimeReply& timing) const {
  std::vector<double> around;
  const int probes = timing.probes_s_size();
  const auto known = known_.find(worker);
  if (probes == 0 || known == known_.end()) return around;
  // A loop that was interrupted says that the sample next to it may have been.
  const auto probe = [&](int i) {
    return ProbeOf(known->second, timing.probes_s(i), timing.chains_s(i))
        .value_or(2 * SlowAbove(worker));
  };
  // The first probe after sample i.
  int next = 0;
  for (int i = 0; i < timing.samples_s_size(); ++i) {
    while (next < probes && timing.probes_at(next) <= i) ++next;
    around.push_back(std::max(probe(std::max(next - 1, 0)),
                              probe(std::min(next, probes - 1))));
  }
  return around;
}

}  // namespace feedrate
