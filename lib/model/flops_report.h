// Counts of models and mixers as records, a table and a figure.
#ifndef FEEDRATE_LIB_MODEL_FLOPS_REPORT_H_
#define FEEDRATE_LIB_MODEL_FLOPS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct FlopsOptions {
  // Names of models and mixers.
  std::vector<std::string> models;
  // Of the mixers.
  std::vector<int64_t> lengths;
  int64_t width = 384;
  // For bytes: samples that share one reading of the weights, and bytes of a
  // value.
  int64_t batch_size = 1;
  int64_t bytes_per_value = 2;
};

// One record a part, `total` last of each model and of each length of a mixer.
// InvalidArgument when a name or a size is none.
absl::StatusOr<std::vector<Flops>> FlopsRecords(const FlopsOptions& options);

// For people; Markdown tables when `markdown`.
std::string FlopsTable(const std::vector<Flops>& records, bool markdown);

// Totals of the mixers over the length of the sequence, as an SVG file.
// InvalidArgument without a mixer of at least two lengths.
absl::StatusOr<std::string> FlopsFigure(const std::vector<Flops>& records);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_FLOPS_REPORT_H_
