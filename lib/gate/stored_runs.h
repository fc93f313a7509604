// The runs of a job, beside those of its stored baseline: which attempts count,
// whether both sides measured the same thing, and how much the runs scatter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Numbers by name. Names of nested fields are joined with dots, as in
// `loader.startup_s`.
using Metrics = std::map<std::string, double>;
// The same with one value per run.
using RunValues = std::map<std::string, std::vector<double>>;

// The names of all numeric fields of a row at any depth, of a `train` record
// and of an `eval` record: what rows and metrics files of feedrate contain.
const std::vector<std::string>& MetricNames();

// Names of counters of imported rows start with this.
inline constexpr char kCounterPrefix[] = "counters.";

// Every numeric field of the `ok` rows, and every counter.
RunValues ValuesOfRows(const std::vector<Row>& rows);
// The medians of the values.
Metrics MediansOf(const RunValues& values);

// The runs of a job that count: of several attempts at a run, the cleanest.
struct JobRuns {
  std::vector<Row> runs;
  // Attempts that count although they are not the last, such as
  // "run 2: attempt 0 of 3".
  std::vector<std::string> not_last;

  // Whether all are known to be of one execution of a program.
  bool OfOneExecution() const;

  // Those that nothing disturbed. See DisturbancesOf.
  std::vector<Row> Clean() const;
};
using RunsByJob = std::map<std::string, JobRuns>;
// Rows of other data or of another version of the library are other runs.
RunsByJob CleanestAttempts(const std::vector<Row>& rows);
// The same for a baseline that was measured several times: what nothing
// disturbed in other executions of the program are further runs. They tell by
// how much the machine differs from one execution to the next.
RunsByJob RunsOfBaseline(const std::vector<Row>& rows);

// Makes runs `contended` whose core was slower than either side shows that it
// can be. A runner knows only what it has seen: if the core was slow from the
// start, it marks nothing.
void MarkSlowCores(RunsByJob* current, RunsByJob* baseline);

// What keeps `current` from being compared with `baseline`. With `any_version`,
// another version of the library does not.
struct Mismatch {
  // `other_version` or `other_data`.
  std::string code;
  // What each side measured.
  std::string reason;
};
absl::optional<Mismatch> FindMismatch(const std::vector<Row>& current,
                                      const std::vector<Row>& baseline,
                                      bool any_version);

// How the baseline's job differs from one of the same library and transform
// that has another id, such as "num_items 64, not 10". Empty if no field
// differs.
std::string IdentityDifference(const Row& current, const Row& baseline);

// The disturbance of a loader's runs that are too short to say much.
inline constexpr char kShort[] = "short";

// What disturbed the runs, such as "3 of 5 runs of the baseline are contended,
// noisy". Empty if more than half of them are clean. `codes` gets the warnings.
std::string DisturbedText(const JobRuns& job, const char* side,
                          std::vector<std::string>* codes);

// The difference between the sides in one metric, and how much of it may be
// chance.
struct Shift {
  // Mean logarithm of the current runs minus that of the baseline's.
  double log = 0;
  // Its standard error, and how many degrees of freedom that has. 0 degrees
  // mean unknown.
  double error = 0;
  double df = 0;
  // Its squared error as a multiple of the variance of one run; 0 if the error
  // is not that of runs.
  double run_share = 0;
  // A side is one run, which may be an outlier.
  bool single_runs = false;
  // How the runs of the sides lie. The test of the means assumes one level per
  // side; a machine that jumps between two can pass it by chance.
  enum class Order {
    // Compare each run of one side with each of the other: at most 2% of the
    // pairs are ordered unlike the means.
    kApart,
    // There are more such pairs, but fewer than chance gives if both sides have
    // the same level, by the rank test of Mann and Whitney.
    kUnlikely,
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

  // By chance, a shift gets worse than this with probability `level`. 0 if the
  // error is unknown.
  double Limit(double level) const;
  // The same shift if it is not known how much the machine differs from one
  // execution of the program to the next: as much as from one run to the next.
  Shift AcrossExecutions() const;
};

// From the values of the runs. Absent if a side has none, or if a value is not
// above 0. With one run on each side the error is unknown.
absl::optional<Shift> ShiftOfRuns(absl::Span<const double> baseline,
                                  absl::Span<const double> current);
// The shift of `throughput` from the samples of one run on each side. Runs of
// the same number of samples are compared sample by sample, because items of
// different sizes take different times. Absent if a side has fewer than three.
absl::optional<Shift> ShiftOfSamples(const Row& baseline, const Row& current);
// The same from number, mean and standard deviation, where a side has no
// samples but a `summary`. Absent if a side has neither, or does not scatter.
absl::optional<Shift> ShiftOfSummaries(const Row& baseline, const Row& current);

// What the jobs of a suite together say about the noise. A handful of runs says
// little about one job, but fifty jobs say what the machine is like.
class SuiteNoise {
 public:
  void Add(const std::string& metric, const Shift& shift);
  // Adds what the suite knows to `shift`:
  // - its variance becomes a mean of its own and the usual one, which counts
  //   like four more runs, if its own is smaller: some jobs are noisier than
  //   others;
  // - its error is at least that by which the shifts of the jobs scatter around
  //   their median. So a machine that changed its speed between the sides
  //   raises no alarm, while a slowdown of all jobs, or of some, does.
  // No effect with fewer than ten jobs.
  Shift Moderate(const std::string& metric, const Shift& shift) const;

 private:
  std::map<std::string, std::vector<Shift>> shifts_;
};

}  // namespace feedrate
