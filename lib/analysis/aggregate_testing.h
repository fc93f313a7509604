// Rows and runs for the tests of aggregate.h.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_TESTING_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_TESTING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// An exact row of mode micro, on machine `m1`, with version `1.0`.
Row OkRow(const std::string& library, const std::string& transform, int run,
          double throughput);

// One group for each library and transform.
AggregateOptions ByLibrary();

// What comes of the rows, handed over one by one.
absl::StatusOr<AggregateResult> Aggregated(const AggregateOptions& options,
                                           const std::vector<Row>& rows);

// The rows as lines of a file.
std::string Text(const std::vector<Row>& rows);

// Writes a file for the test; returns its path.
std::string WriteFile(const std::string& name, const std::string& content);

// What comes of files. `complaints` (or null) gets what was said on the way.
absl::StatusOr<AggregateResult> RunFiles(AggregateOptions options,
                                         const std::vector<std::string>& paths,
                                         std::vector<std::string>* complaints);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_TESTING_H_
