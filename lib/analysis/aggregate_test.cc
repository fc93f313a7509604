#include "lib/analysis/aggregate.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate_testing.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AggregateTest, RunsBecomeStatistics) {
  std::vector<Row> rows;
  for (const double throughput : {100.0, 110.0, 90.0}) {
    rows.push_back(
        OkRow("a", "Blur", static_cast<int>(rows.size()), throughput));
  }
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 1u);
  const Aggregate& a = result->aggregates[0];
  EXPECT_EQ(a.runs(), 3);
  EXPECT_EQ(a.median(), 100);
  EXPECT_EQ(a.mean(), 100);
  EXPECT_NEAR(a.sd(), 10, 1e-12);
  EXPECT_EQ(a.interval().method(), "log_t");
  EXPECT_THAT(a.flags(), ElementsAre("few_runs"));
  EXPECT_EQ(a.held().at("machine_profile"), "m1");
  EXPECT_EQ(a.rank(), 1);
}

TEST(AggregateTest, OneOrTwoRunsHaveNoInterval) {
  const auto result = Aggregated(
      ByLibrary(), {OkRow("a", "Blur", 0, 100), OkRow("a", "Blur", 1, 200)});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->aggregates[0].has_interval());
  EXPECT_FALSE(result->aggregates[0].has_rank());
  EXPECT_THAT(result->aggregates[0].flags(), ElementsAre("unstable"));
}

TEST(AggregateTest, RanksTieWhereIntervalsOverlap) {
  std::vector<Row> rows;
  for (int run = 0; run < 5; ++run) {
    rows.push_back(OkRow("fast", "Blur", run, 1000 + run));
    rows.push_back(OkRow("near", "Blur", run, 1001 + run));
    rows.push_back(OkRow("slow", "Blur", run, 500 + run));
    rows.push_back(OkRow("once", "Flip", run, 500 + run));
  }
  AggregateOptions options = ByLibrary();
  options.relative_to = "slow";
  const auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok());
  const std::vector<Aggregate>& a = result->aggregates;
  ASSERT_EQ(a.size(), 4u);
  EXPECT_EQ(a[0].rank(), 1);
  EXPECT_TRUE(a[0].tied());
  EXPECT_EQ(a[1].rank(), 1);
  EXPECT_EQ(a[2].by().at("library"), "once");
  EXPECT_EQ(a[2].rank(), 1);
  EXPECT_FALSE(a[2].tied());
  EXPECT_EQ(a[2].speed_up().reason(), "no row of slow");
  EXPECT_EQ(a[3].rank(), 3);
  EXPECT_NEAR(a[0].speed_up().ratio(), 1002.0 / 502, 1e-12);
  EXPECT_LT(a[0].speed_up().low(), a[0].speed_up().ratio());
  EXPECT_GT(a[0].speed_up().high(), a[0].speed_up().ratio());
  EXPECT_EQ(a[3].speed_up().ratio(), 1);
  ASSERT_EQ(result->means.size(), 3u);
  EXPECT_EQ(result->means[0].library(), "fast");
  EXPECT_EQ(result->means[0].rows(), 1);
  EXPECT_EQ(result->means[2].rows(), 0);
  EXPECT_EQ(result->means[2].left_out(), 1);
}

TEST(AggregateTest, RatiosOnlyBetweenTheSameWork) {
  Row other = OkRow("b", "Blur", 0, 300);
  other.mutable_equivalence()->set_label("different");
  Row unchecked = OkRow("c", "Blur", 0, 300);
  unchecked.clear_equivalence();
  Row equivalent = OkRow("d", "Blur", 0, 300);
  equivalent.mutable_equivalence()->set_label("equivalent");
  // Another machine is never compared.
  Row elsewhere = OkRow("e", "Blur", 0, 300);
  elsewhere.set_machine_profile("m2");
  AggregateOptions options = ByLibrary();
  options.relative_to = "a";
  const std::vector<Row> rows = {OkRow("a", "Blur", 0, 100), other, unchecked,
                                 equivalent, elsewhere};
  auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates[1].speed_up().reason(), "b is different");
  EXPECT_EQ(result->aggregates[2].speed_up().reason(), "c is not checked");
  EXPECT_EQ(result->aggregates[3].speed_up().ratio(), 3);
  EXPECT_EQ(result->aggregates[4].speed_up().reason(), "no row of a");
  options.any_work = true;
  result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates[1].speed_up().ratio(), 3);
  EXPECT_FALSE(result->aggregates[4].speed_up().has_ratio());
}

TEST(AggregateTest, LatenciesArePooled) {
  Row one = OkRow("a", "Blur", 0, 100);
  for (int i = 0; i < 7; ++i) one.add_samples_s(1);
  Row two = OkRow("a", "Blur", 1, 100);
  for (int i = 0; i < 3; ++i) two.add_samples_s(101);
  auto result = Aggregated(ByLibrary(), {one, two});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates[0].p50_s(), 1);
  EXPECT_EQ(result->aggregates[0].p99_s(), 101);
  two.clear_samples_s();
  result = Aggregated(ByLibrary(), {one, two});
  EXPECT_FALSE(result->aggregates[0].has_p50_s());
}

TEST(AggregateTest, OptionsAreChecked) {
  AggregateOptions options;
  options.by = {"librray"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("--by: unknown field \"librray\"; did you mean"));
  options.by = {"library", "library"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("twice"));
  options.by = {"transform"};
  options.mix = {"machine"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("--mix: \"machine\""));
  options.mix = {};
  options.relative_to = "a";
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("add library to --by"));
}

}  // namespace
}  // namespace feedrate
