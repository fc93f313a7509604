// What one run says about how long its work takes.
#ifndef FEEDRATE_LIB_GATE_RUN_TIME_H_
#define FEEDRATE_LIB_GATE_RUN_TIME_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Which number of a run is compared.
enum class RunStatistic {
  // The middle of its samples: what most of the work takes. The default.
  kTypical,
  // Time over items, everything included.
  kTotal,
  // The 90th percentile of its samples: the tail.
  kP90,
};

// "typical", "total", "p90". None when `name` is something else.
absl::optional<RunStatistic> ParseRunStatistic(const std::string& name);
const std::vector<std::string>& RunStatisticNames();

// Logarithm of the seconds. Without samples the total is used. None when the
// row is not `ok` or has no time above 0.
absl::optional<double> RunLog(const Row& row, RunStatistic statistic);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_RUN_TIME_H_
