#include "lib/analysis/aggregate_testing.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {

Row OkRow(const std::string& library, const std::string& transform, int run,
          double throughput) {
  Row row;
  row.set_job_id(absl::StrCat(library, "/", transform));
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_library(library);
  row.set_transform(transform);
  row.set_device("cpu");
  row.set_run_index(run);
  row.set_status("ok");
  row.set_unit("image");
  row.set_throughput(throughput);
  row.set_machine_profile("m1");
  row.set_library_version("1.0");
  row.mutable_equivalence()->set_label("exact");
  return row;
}

AggregateOptions ByLibrary() {
  AggregateOptions options;
  options.by = {"library", "transform"};
  return options;
}

absl::StatusOr<AggregateResult> Aggregated(const AggregateOptions& options,
                                           const std::vector<Row>& rows) {
  auto aggregator = RowAggregator::Create(options);
  if (!aggregator.ok()) return aggregator.status();
  for (const Row& row : rows) EXPECT_TRUE((*aggregator)->Add(row).ok());
  return (*aggregator)->Finish();
}

std::string Text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) AppendRecord(row, &text);
  return text;
}

std::string WriteFile(const std::string& name, const std::string& content) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

absl::StatusOr<AggregateResult> RunFiles(AggregateOptions options,
                                         const std::vector<std::string>& paths,
                                         std::vector<std::string>* complaints) {
  options.complain = [=](const std::string& text) {
    if (complaints != nullptr) complaints->push_back(text);
  };
  auto aggregator = RowAggregator::Create(options);
  if (!aggregator.ok()) return aggregator.status();
  const absl::Status status = (*aggregator)->ReadPaths(paths);
  if (!status.ok()) return status;
  return (*aggregator)->Finish();
}

}  // namespace feedrate
