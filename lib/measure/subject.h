// The interface to what is measured, and the detection of what disturbed a run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/energy.h"
#include "lib/machine/process_counters.h"
#include "lib/records/worker.pb.h"

namespace feedrate {

// A request for timed calls.
struct TimeRequest {
  // Items first … first+count-1, modulo their number.
  int64_t first = 0;
  int64_t count = 0;
  // Calls per sample.
  int64_t chunk = 1;
  // No new chunk starts after this many seconds. 0 means no limit.
  double limit_s = 0;
  uint64_t seed = 0;
  // On a GPU: fill the L2 cache with other data before each sample.
  bool cold = false;
  // If there is no answer after this many seconds, it counts as hanging.
  double hang_s = 0;
};

// Sum of the samples: the wall time of the calls alone.
double ElapsedOf(const TimeReply& timing);

// Counters of what disturbs a timing. Only differences between two readings
// matter.
struct NoiseCounters {
  ProcessCounters process;
  ProcessorCounters processors;
  // Absent if the machine does not count them.
  std::optional<int64_t> cycles;
  // Periods in which a quota stopped this process's control group.
  int64_t throttled_periods = 0;
  // Monotonic clock.
  double now_s = 0;
  // Not noise, but read at the same moments.
  EnergyUse energy;
};

// A transform that is ready to run, in a process that it may crash. Tests use
// one with simulated times.
class Subject {
 public:
  virtual ~Subject() = default;
  // Returns the errors of MeasuredChild (lib/worker/child.h).
  virtual absl::StatusOr<TimeReply> Time(const TimeRequest& request) = 0;
  virtual NoiseCounters Count() = 0;
  // The cost of two readings of its clock.
  virtual double clock_pair_s() const = 0;
};

struct NoisePolicy {
  // Fraction of the run in which the process waited for a processor or the
  // hypervisor ran others. At the first threshold the run is `contended`, at
  // the second also `noisy`.
  double contended_share = 0.02;
  double noisy_share = 0.05;
  // Waits that add up to less than this are normal scheduling.
  double min_wait_s = 0.3e-3;
  // Fraction of all processors' time that others used, at which it is
  // `contended`.
  double others_share = 0.5;
  // CPU time divided by wall time above which a single-threaded run is
  // `multithreaded`.
  double multithreaded_cores = 1.1;
  // Fraction of the best clock seen, below which it is `throttled`.
  double throttled_clock = 0.9;
  // Moves between processors per second at which it is `migrated`; fewer than
  // two moves never are.
  double migrations_per_s = 5;
  // Counters that tick every 10 ms are ignored for shorter runs.
  double min_s = 0.1;
};

struct FoundNoise {
  // Values for Row.warnings, sorted.
  std::vector<std::string> warnings;
  // What `contended`, `noisy` and `throttled` come from: `load`, `paging`,
  // `slow_core`, `steal`, `throttling`; sorted.
  std::vector<std::string> causes;
};

// Detects what disturbed runs, from the kernel's counters before and after.
// Remembers the best clock seen. Not thread-safe.
class NoiseWatch {
 public:
  // `single_thread`: warn about more than one thread.
  NoiseWatch(const NoisePolicy& policy, bool single_thread)
      : policy_(policy), single_thread_(single_thread) {}

  // Judges a run whose calls took `elapsed_s` between the two readings, of
  // which the core was slow for `slow_share`.
  FoundNoise Judge(const NoiseCounters& before, const NoiseCounters& after,
                   double elapsed_s, double slow_share = 0);
  // The same for a run that used `cpu_s` in several threads and processes.
  // Which of them waited for which is unknown; the effect of others and of a
  // quota is known.
  FoundNoise JudgeLoader(NoiseCounters before, NoiseCounters after,
                         double elapsed_s, double cpu_s);

 private:
  const NoisePolicy policy_;
  const bool single_thread_;
  double best_clock_hz_ = 0;
};

// Looks at the machine for a tenth of a second, while this process does
// nothing. Returns what would disturb a run: `load` if a quarter of the
// processors is busy, `steal` if the hypervisor takes `steal_share` of their
// time, or both.
std::vector<std::string> LookForNoise(double steal_share);

// Waits for a quiet machine, within a budget for the whole program. A machine
// that was quiet is trusted until Doubt is called, so that waiting costs
// nothing while nothing disturbs. Not thread-safe.
class QuietWait {
 public:
  struct Options {
    // Returns what disturbs the machine now, as LookForNoise does.
    std::function<std::vector<std::string>()> look;
    // Seconds that all looks together may take, from the start until now.
    std::function<double()> budget_s;
    // Monotonic clock.
    std::function<double()> now_s;
    // Ends a wait early. May be null.
    std::function<bool()> interrupted;
    // Sleeps for some milliseconds. May be null.
    std::function<void()> pause;
  };
  explicit QuietWait(Options options) : options_(std::move(options)) {}

  // Makes the next Wait look at the machine.
  void Doubt() { quiet_ = false; }
  // Returns the seconds that it took.
  double Wait();
  // Does `step` at the expense of the budget. Returns false, and does not do
  // it, if the budget is spent or the run shall end.
  bool Spend(const std::function<void()>& step);
  // Spends a pause.
  void Pause();
  // Whether a look found the machine quiet, and nobody doubts it since.
  bool quiet() const { return quiet_; }
  // What the last look found. Empty without one.
  const std::vector<std::string>& causes() const { return causes_; }
  // Seconds of all waits and steps.
  double waited_s() const { return waited_s_; }

 private:
  bool MaySpend(double seconds) const;

  const Options options_;
  bool quiet_ = false;
  std::vector<std::string> causes_;
  double waited_s_ = 0;
};

// Knows how much of a core one thread can use, from the probes that workers
// take between samples. What runs on the other thread of a core, often in
// another virtual machine, takes up to half of it, and no counter shows it. A
// probe is the time of a loop that keeps the core busy, divided by that of a
// loop that depends on the clock alone. Not thread-safe.
class SpeedWatch {
 public:
  // A probe that is this share larger than the smallest is slow. `quiet` pays
  // for repeating samples and outlives this.
  SpeedWatch(double slow_core, QuietWait* quiet)
      : slow_core_(slow_core), quiet_(quiet) {}

  // Remembers the fastest loops of `worker`: workers may have different ones.
  void Note(const std::string& worker, const TimeReply& timing);
  // For each sample the larger of the two probes around it. Empty without
  // probes.
  std::vector<double> Around(const std::string& worker,
                             const TimeReply& timing) const;
  // Larger probes are slow. Infinite if nothing is known about the worker.
  double SlowAbove(const std::string& worker) const;
  QuietWait* quiet() const { return quiet_; }

 private:
  // The smallest times of its loops. Not the smallest ratio: a chain that took
  // longer by chance would make all other probes slow.
  struct Known {
    double chain_s = std::numeric_limits<double>::infinity();
    double probe_s = std::numeric_limits<double>::infinity();
  };
  // Absent if its loop was interrupted.
  static std::optional<double> ProbeOf(const Known& known, double probe_s,
                                       double chain_s);

  const double slow_core_;
  QuietWait* const quiet_;
  std::map<std::string, Known> known_;
};

}  // namespace feedrate
