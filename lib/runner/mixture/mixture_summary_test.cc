#include "lib/runner/mixture/mixture_summary.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row RowOf(const std::string& metadata, int run_index, double throughput) {
  Row row;
  row.set_job_id(metadata);
  row.set_library("native");
  row.set_status("ok");
  row.set_batch_size(64);
  row.set_run_index(run_index);
  row.set_throughput(throughput);
  (*row.mutable_settings())["metadata"] = metadata;
  (*row.mutable_settings())["queue_depth"] = "4";
  row.mutable_mixture();
  return row;
}

TEST(MixtureSummaryTest, ComparesRunByRun) {
  std::vector<Row> rows;
  // The machine gets slower; the ratio stays.
  for (int i = 0; i < 8; ++i) {
    rows.push_back(RowOf("none", i, 1000 - 100 * i));
    rows.push_back(RowOf("full", i, 0.9 * (1000 - 100 * i) + i % 2));
  }
  const std::string text = MixtureSummary(rows);
  EXPECT_THAT(text, HasSubstr("native metadata=none: 650 samples/s\n"));
  EXPECT_THAT(text, HasSubstr("native metadata=full"));
  EXPECT_THAT(text, HasSubstr("0.90 [0.90, 0.90] of the first\n"));
  EXPECT_THAT(text, Not(HasSubstr("queue_depth")));
}

TEST(MixtureSummaryTest, SaysWhenNothingIsShown) {
  std::vector<Row> rows;
  for (int i = 0; i < 8; ++i) {
    rows.push_back(RowOf("none", i, 1000));
    rows.push_back(RowOf("full", i, i % 2 == 0 ? 1100 : 950));
  }
  EXPECT_THAT(MixtureSummary(rows), HasSubstr("no difference shown"));
  EXPECT_THAT(MixtureSummary({rows[0], rows[1]}),
              HasSubstr("in 1 runs: too few to tell"));
  EXPECT_EQ(MixtureSummary({rows[0], rows[2]}), "");
}

}  // namespace
}  // namespace feedrate
