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

const std::vector<std::string> kNoneFirst = {"none", "full"};

TEST(MixtureSummaryTest, ComparesRunByRun) {
  std::vector<Row> rows;
  // The machine gets slower; the ratio stays.
  for (int i = 0; i < 8; ++i) {
    rows.push_back(RowOf("none", i, 1000 - 100 * i));
    rows.push_back(RowOf("full", i, 0.9 * (1000 - 100 * i) + i % 2));
  }
  const std::string text = MixtureSummary(rows, kNoneFirst);
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
  EXPECT_THAT(MixtureSummary(rows, kNoneFirst),
              HasSubstr("no difference shown"));
  EXPECT_THAT(MixtureSummary({rows[0], rows[1]}, kNoneFirst),
              HasSubstr("in 1 runs: too few to tell"));
  EXPECT_EQ(MixtureSummary({rows[0], rows[2]}, kNoneFirst), "");
}

TEST(MixtureSummaryTest, TheFirstIsThatOfTheSweepAndNotOfTheRows) {
  // As runs are shuffled, either may come first.
  const std::vector<Row> rows = {RowOf("full", 0, 900), RowOf("none", 0, 1000)};
  EXPECT_EQ(MixtureSummary(rows, kNoneFirst),
            "native metadata=none: 1000 samples/s\n"
            "native metadata=full: 900 samples/s, 0.90 of the first in 1 runs: "
            "too few to tell\n");
  EXPECT_EQ(MixtureSummary(rows, {"full", "none"}),
            "native metadata=full: 900 samples/s\n"
            "native metadata=none: 1000 samples/s, 1.11 of the first in 1 "
            "runs: too few to tell\n");
}

TEST(MixtureSummaryTest, NoOtherTakesThePlaceOfAFirstThatFailed) {
  std::vector<Row> rows = {RowOf("full", 0, 900), RowOf("none", 0, 0)};
  rows[1].set_status("failed");
  rows[1].clear_mixture();
  EXPECT_EQ(MixtureSummary(rows, kNoneFirst),
            "native metadata=none: no run is ok; its rows say why\n"
            "native metadata=full: 900 samples/s, no run in common with the "
            "first\n");
}

}  // namespace
}  // namespace feedrate
