// What disturbed a run, by the kernel's counts before and after it.
#ifndef FEEDRATE_LIB_MEASURE_NOISE_H_
#define FEEDRATE_LIB_MEASURE_NOISE_H_

#include <string>
#include <vector>

#include "lib/measure/subject.h"

namespace feedrate {

struct NoisePolicy {
  // Share of the run in which the process waited for a processor, or the
  // hypervisor ran others: from the first on `contended`, from the second on
  // also `noisy`.
  double contended_share = 0.02;
  double noisy_share = 0.05;
  // Waits shorter than this, all together, are the scheduler's own business.
  double min_wait_s = 0.3e-3;
  // Share of all processors' time that others used: `contended`.
  double others_share = 0.5;
  // Processors' worth of time above which one thread was not alone.
  double multithreaded_cores = 1.1;
  // Share of the best clock seen below which it is `throttled`.
  double throttled_clock = 0.9;
  // Moves between processors a second from which it is `migrated`; fewer than
  // two never are.
  double migrations_per_s = 5;
  // Shorter runs are not judged by counters that tick every 10 ms.
  double min_s = 0.1;
};

// Remembers the best clock of the run. Not thread-safe.
class NoiseWatch {
 public:
  // `single_thread`: more than one thread is worth a warning.
  NoiseWatch(const NoisePolicy& policy, bool single_thread)
      : policy_(policy), single_thread_(single_thread) {}

  // Warnings, sorted, for a run whose calls took `elapsed_s` between the two
  // counts.
  std::vector<std::string> Judge(const NoiseCounters& before,
                                 const NoiseCounters& after, double elapsed_s);

 private:
  const NoisePolicy policy_;
  const bool single_thread_;
  double best_clock_hz_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_NOISE_H_
