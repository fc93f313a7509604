// Rows and their aggregates for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/testing/rows.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// An exact row of mode micro, on machine `m1`, with version `1.0`.
inline Row OkRow(const std::string& library, const std::string& transform,
                 int run, double throughput) {
  Row row = MakeRow(library, transform, throughput, run);
  row.set_machine_profile("m1");
  return row;
}

// One group per library and transform.
inline AggregateOptions ByLibrary() {
  AggregateOptions options;
  options.by = {"library", "transform"};
  return options;
}

// Aggregates the rows, added one by one.
inline absl::StatusOr<AggregateResult> Aggregated(
    const AggregateOptions& options, const std::vector<Row>& rows) {
  auto aggregator = RowAggregator::Create(options);
  if (!aggregator.ok()) return aggregator.status();
  for (const Row& row : rows) EXPECT_TRUE((*aggregator)->Add(row).ok());
  return (*aggregator)->Finish();
}

}  // namespace feedrate
