#include "lib/measure/subject.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

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

std::vector<std::string> NoiseWatch::Judge(const NoiseCounters& before,
                                           const NoiseCounters& after,
                                           double elapsed_s) {
  std::vector<std::string> warnings;
  if (elapsed_s <= 0) return warnings;
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
  if (lost >= policy_.contended_share || others >= policy_.others_share) {
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
  }
  return warnings;
}

}  // namespace feedrate
