// Where medians lie that will be measured another time: in another execution of
// the program, on another day, on another machine of the same kind.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/stats/summary.h"

namespace feedrate {

// One execution of a program, which has measured some jobs.
struct ExecutionOfJobs {
  // Empty if unknown.
  std::string machine;
  std::string day;
  // The median of each job's runs, above 0; NaN if the job has none here.
  std::vector<double> medians;
};

// What is repeated.
enum class Repeated { kExecutions, kDays, kMachines };
// `executions`, `days` or `machines`.
const char* RepeatedName(Repeated what);

struct Elsewhere {
  // The largest of them that comes at least three times.
  Repeated what = Repeated::kExecutions;
  // How often.
  int units = 0;
  // For each job, what contains the next execution's median in 95 of 100 cases:
  // on another day if days are repeated, on another machine if machines are.
  // Absent if the job has been measured in fewer than three of them.
  std::vector<absl::optional<Interval>> intervals;
};

// Absent if nothing comes three times. Jobs of an execution resemble each
// other, because they share its machine and its minutes: what they share is
// known from as few values as there are executions, and only the rest of a job
// from the scatter of all jobs. All medians are logarithms here, so the
// intervals are for values like times and rates. Each execution has as many
// medians.
absl::optional<Elsewhere> FindElsewhere(
    const std::vector<ExecutionOfJobs>& executions);

}  // namespace feedrate
