// The metrics of a run that a duel compares besides its time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/records/row.pb.h"

namespace feedrate {

struct GateMetric {
  // `memory`, or a numeric field of a row such as `loader.startup_s`.
  std::string name;
  // Unit of its values. Empty for counts and shares.
  std::string unit;
  // Smallest change of interest, in percent.
  double interest_percent = 5;
  bool higher_is_better = false;
  // Smaller values count as this one: a change from 0 to a few does not
  // count.
  double least = 1e-12;
  // Which field of a row holds it, and who writes that field.
  std::string source;
  // Absent if the row does not have it. Null: the field called `name`.
  absl::optional<double> (*read)(const Row& row) = nullptr;
};

// What is judged.
struct MetricChoice {
  // If false, the other metrics alone decide.
  bool has_time = true;
  std::vector<GateMetric> metrics;
};

// Metrics with a name of their own, besides `time`.
const std::vector<GateMetric>& NamedGateMetrics();

// `time,memory,cpu`.
extern const char kDefaultGateMetrics[];
MetricChoice DefaultMetricChoice();

// Parses a list such as `time,memory:10,loader.startup_s:20,of_limit:5:higher`:
// names with the smallest change of interest in percent and the better
// direction, both optional. InvalidArgument names the flag `--metrics`.
absl::StatusOr<MetricChoice> ParseMetricChoice(const std::string& text);

// Whether one of them is known only if a run's allocations are counted.
bool NeedsAllocationCounter(const MetricChoice& choice);

// The metric of one run. Absent if the row is not `ok` or does not have it.
absl::optional<double> MetricOf(const Row& row, const GateMetric& metric);

// "13.4 MB", "0.123 s", "1024".
std::string MetricText(double value, const std::string& unit);

}  // namespace feedrate
