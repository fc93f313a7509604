// The runs of a job, beside those of its stored baseline: which attempts count,
// whether both sides measured the same thing, and how much the runs scatter.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "google/protobuf/descriptor.h"
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

// The numbers of rows that somebody asks for, by name.
class RowMetrics {
 public:
  // Numeric fields at any depth, and counters, whose names `wanted` accepts.
  explicit RowMetrics(std::function<bool(const std::string&)> wanted);

  // Their values in the `ok` rows.
  RunValues ValuesOf(const std::vector<Row>& rows) const;

 private:
  const std::function<bool(const std::string&)> wanted_;
  // With the fields that lead to each.
  std::vector<std::pair<std::string,
                        std::vector<const google::protobuf::FieldDescriptor*>>>
      fields_;
};
// The values of all.
RunValues ValuesOfRows(const std::vector<Row>& rows);
// The medians of the values.
Metrics MediansOf(const RunValues& values);

// The execution of a program that a row is of; empty if the row does not say.
// Some harnesses start a process for each result; the results of others are of
// one.
std::string ExecutionOf(const Row& row);
// Those of the `ok` rows.
std::vector<std::string> ExecutionsOf(const std::vector<Row>& rows);

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
  bool IsClean() const;
};
using RunsByJob = std::map<std::string, JobRuns>;
// Rows of other data or of another version of the library are other runs.
RunsByJob CleanestAttempts(std::vector<Row> rows);
// The same for what was measured several times: what nothing disturbed in other
// executions of the program are further runs. They tell by how much the machine
// differs from one execution to the next.
RunsByJob RunsOfAllExecutions(std::vector<Row> rows);

// Makes runs `contended` whose core was slower than either side shows that it
// can be. A runner knows only what it has seen: if the core was slow from the
// start, it marks nothing.
void MarkSlowCores(RunsByJob* current, RunsByJob* baseline);

// What keeps `current` from being compared with `baseline`. With `any_version`,
// another version of the library does not.
struct Mismatch {
  // `other_version`, `other_data`, `other_cache` or `other_cpus`.
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

}  // namespace feedrate
