#include "lib/runner/sweep_summary.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Row RowOf(int workers, int prefetch, double throughput, int run_index = 0) {
  Row row;
  row.set_library("native");
  row.set_transform("HorizontalFlip");
  row.set_status("ok");
  row.set_workers(workers);
  row.set_batch_size(256);
  (*row.mutable_settings())["prefetch"] = std::to_string(prefetch);
  row.set_throughput(throughput);
  row.set_run_index(run_index);
  return row;
}

TEST(SweepSummaryTest, NamesTheBestAndTheSmallestThatWillDo) {
  const std::string text = SweepSummary({RowOf(1, 2, 500), RowOf(2, 2, 980),
                                         RowOf(4, 2, 1000), RowOf(2, 4, 985)});
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("best: workers=4, prefetch=2: 1000 items/s"),
            HasSubstr("smallest within 3% of it: workers=2, prefetch=2: 980"),
            HasSubstr("each worker adds: 1 to 2: +480, 2 to 4: +10"),
            HasSubstr("Use workers=2, prefetch=2: 98% of the best"),
            Not(HasSubstr("batch_size"))));
}

TEST(SweepSummaryTest, TheBestMayBeTheSmallest) {
  EXPECT_THAT(SweepSummary({RowOf(1, 2, 500), RowOf(2, 2, 980)}),
              HasSubstr("Use workers=2: nothing smaller comes within 3%"));
}

TEST(SweepSummaryTest, RunsCountByTheirMedian) {
  const std::string text = SweepSummary(
      {RowOf(1, 2, 100, 0), RowOf(1, 2, 900, 1), RowOf(1, 2, 110, 2),
       RowOf(2, 2, 200, 0), RowOf(2, 2, 10, 0)});
  EXPECT_THAT(text, HasSubstr("best: workers=1: 110 items/s"))
      << "the last attempt of workers=2 counts";
}

TEST(SweepSummaryTest, WithoutASweepThereIsNothingToSay) {
  EXPECT_EQ(SweepSummary({}), "");
  EXPECT_EQ(SweepSummary({RowOf(1, 2, 500), RowOf(1, 2, 600, 1)}), "");
  Row failed = RowOf(2, 2, 0);
  failed.set_status("failed");
  EXPECT_EQ(SweepSummary({RowOf(1, 2, 500), failed}), "");
}

}  // namespace
}  // namespace feedrate
