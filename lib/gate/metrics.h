// Named numbers of a job: a metrics or eval file, or the rows of one job.
#ifndef FEEDRATE_LIB_GATE_METRICS_H_
#define FEEDRATE_LIB_GATE_METRICS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// By name; parts of parts are joined with dots, as in `loader.startup_s`.
using Metrics = std::map<std::string, double>;

// A file such as `<machine_profile>.metrics.json`.
struct MetricsFile {
  std::string machine_profile;
  Metrics metrics;
};

// Parses one JSON object: `machine_profile`, and numbers, also in objects in
// it. Other values (text, truth values) are passed over. InvalidArgument with
// `name` and what is wrong: no object, no profile, half-written, a number that
// is none, or no number at all.
absl::StatusOr<MetricsFile> ParseMetrics(absl::string_view text,
                                         const std::string& name);

// Every numeric field of the rows, each the median over those of status `ok`
// that have it.
Metrics MetricsOfRows(const std::vector<Row>& rows);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_METRICS_H_
