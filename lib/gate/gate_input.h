// What the gate is given: rows, a metrics file, or verdicts of before.
#ifndef FEEDRATE_LIB_GATE_GATE_INPUT_H_
#define FEEDRATE_LIB_GATE_GATE_INPUT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/gate/metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct GateInput {
  // Rows with `pair`, and the record of their duel.
  PairedRows paired{RunStatistic::kTypical};
  int64_t paired_rows = 0;
  // Rows without.
  std::vector<Row> rows;
  absl::optional<MetricsFile> metrics;
  // The metrics file as it was.
  std::string metrics_text;
  // Verdicts on jobs, for rendering them again.
  std::vector<Verdict> verdicts;
};

// Reads `path`, `-` being standard input. A file is either records, one a line,
// or one JSON object of metrics. Torn and broken lines are told to `warn`.
// NotFound or InvalidArgument with the path when it can be neither.
absl::StatusOr<GateInput> ReadGateInput(
    const std::string& path, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn);

// The whole of a file or, for `-`, of standard input.
absl::StatusOr<std::string> ReadAll(const std::string& path);

// The same for text; `name` is for messages.
absl::StatusOr<GateInput> ParseGateInput(
    const std::string& text, const std::string& name, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_GATE_INPUT_H_
