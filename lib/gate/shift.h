// How much a metric differs between the runs of two sides, and how much of that
// may be chance. Runs come in executions of a program, and executions differ:
// memory lies elsewhere, the machine is in another state. So an execution is
// what is repeated, and its runs only tell its mean.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Executions of both sides together that can prove a small change. Suppose that
// a machine has two speeds, and that each execution gets one of them by chance.
// Then the baseline had only the fast one, and what is measured now only the
// slow one, in 1 of 2^8 comparisons.
inline constexpr int kEnoughExecutions = 8;
// With fewer, a smaller change is not judged, as a logarithm: the two speeds
// may be 20% apart, and nothing shows that there are two.
inline constexpr double kUnseenExecutions = 0.22;
// The same for one process of another harness on each side, which also does not
// say what else the machine did.
inline constexpr double kUnseenProcesses = 0.41;

// The difference between the sides in one metric, and how much of it may be
// chance.
struct Shift {
  // Mean logarithm of the current executions minus that of the baseline's.
  double log = 0;
  // Its standard error, and how many degrees of freedom that has. 0 degrees
  // mean unknown.
  double error = 0;
  double df = 0;
  // Its squared error as a multiple of the variance of one execution, or of one
  // run if the executions are not known; 0 if the error is not that of either.
  double run_share = 0;
  // A side is one execution or run, which may be an outlier.
  bool single_runs = false;
  // Executions of the baseline and now; 0 if they are not known.
  int baseline_executions = 0;
  int executions = 0;
  // A smaller shift may be one between executions that nothing shows.
  double unseen = 0;
  // How far the runs of the two sides overlap. The test of means assumes that a
  // side has one level; a machine that jumps between two levels can pass it by
  // chance. Pairs are all combinations of a run of one side and a run of the
  // other; a pair contradicts the means if its order is the opposite of theirs.
  enum class Order {
    // At most 2% of the pairs contradict the means.
    kApart,
    // More do, but fewer than chance explains if both sides have the same level
    // (rank test of Mann and Whitney).
    kUnlikely,
    // As many as chance explains.
    kMixed,
  };
  Order order = Order::kApart;
  // The speed of memory, by which executions differ most, is known on both
  // sides, and what it adds to the current runs: `memory` is not in `log`.
  bool knows_memory = false;
  double memory = 0;
  // By how much slower the core's clock and, beyond `memory`, the memory may
  // have made the current runs, as a logarithm. See CoreSpeed.
  double slower_machine = 0;

  // Whether the sides have so many executions that single ones do not matter.
  bool HasManyExecutions() const;
  // By chance, a shift gets worse than this with probability `level`. 0 if the
  // error is unknown.
  double Limit(double level) const;
  // The same shift if it is not known how much the machine differs from one
  // execution of the program to the next: as much as from one run to the next.
  Shift AcrossExecutions() const;
};

// From the values of the runs. Absent if a side has none, or if a value is not
// above 0. With one run on each side the error is unknown. The executions of
// the runs may be left out, or one may be empty: then every run counts alike.
absl::optional<Shift> ShiftOfRuns(
    absl::Span<const double> baseline, absl::Span<const double> current,
    absl::Span<const std::string> baseline_executions = {},
    absl::Span<const std::string> executions = {});
// The shift of `throughput` from the samples of one run on each side. Runs of
// the same number of samples are compared sample by sample, because items of
// different sizes take different times. Absent if a side has fewer than three.
absl::optional<Shift> ShiftOfSamples(const Row& baseline, const Row& current);
// The same from number, mean and standard deviation, where a side has no
// samples but a `summary`. Absent if a side has neither, or does not scatter.
absl::optional<Shift> ShiftOfSummaries(const Row& baseline, const Row& current);

// Executions on each side that find a change of `percent` in 95 of 100 cases at
// `level`, if they scatter like those of `shift`. 0 if they are more than 1000,
// or if their scatter is not known.
int ExecutionsFor(const Shift& shift, double percent, double level);

// What the jobs of a suite together say about the noise. A handful of runs says
// little about one job, but fifty jobs say what the machine is like.
class SuiteNoise {
 public:
  void Add(const std::string& metric, const Shift& shift);
  // Adds what the suite knows to `shift`:
  // - executions scatter at least as the median job's do, if that is known;
  // - otherwise its variance becomes a mean of its own and the usual one, which
  //   counts like four more runs, if its own is smaller: some jobs are noisier
  //   than others;
  // - its error is at least that by which the shifts of the jobs scatter around
  //   their median. So a machine that changed its speed between the sides
  //   raises no alarm, while a slowdown of all jobs, or of some, does.
  // The last two need ten jobs.
  Shift Moderate(const std::string& metric, const Shift& shift) const;

 private:
  struct Noise {
    std::vector<Shift> shifts;
    // From all shifts, once they are all there: Moderate is called for each.
    bool is_summed = false;
    double usual_square = 0;
    double scatter = 0;
  };
  const Noise* Sum(const std::string& metric) const;

  mutable std::map<std::string, Noise> noise_;
};

}  // namespace feedrate
