#include "lib/gate/run_time.h"

#include <cmath>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

Row OkRow() {
  Row row;
  row.set_status("ok");
  row.set_elapsed_s(2);
  row.set_items(4);
  for (const double s : {1.0, 1.0, 1.0, 1.0, 9.0}) row.add_samples_s(s);
  return row;
}

TEST(RunTimeTest, Statistics) {
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kTypical), 0, 1e-12);
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kTotal), std::log(0.5), 1e-12);
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kP90), std::log(5.8), 1e-12);
}

TEST(RunTimeTest, FallsBackWithoutSamples) {
  Row row = OkRow();
  row.clear_samples_s();
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTypical), std::log(0.5), 1e-12);
  row.clear_elapsed_s();
  EXPECT_FALSE(RunLog(row, RunStatistic::kTypical).has_value());
  row.set_throughput(10);
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTotal), -std::log(10), 1e-12);
}

TEST(RunTimeTest, OnlyOkRowsAndTimesAboveZeroCount) {
  Row row = OkRow();
  row.set_status("crashed");
  EXPECT_FALSE(RunLog(row, RunStatistic::kTypical).has_value());
  row = OkRow();
  row.set_samples_s(0, 0);
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTypical), std::log(0.5), 1e-12);
}

TEST(RunTimeTest, Names) {
  for (const std::string& name : RunStatisticNames()) {
    EXPECT_TRUE(ParseRunStatistic(name).has_value());
  }
  EXPECT_FALSE(ParseRunStatistic("mean").has_value());
}

}  // namespace
}  // namespace feedrate
