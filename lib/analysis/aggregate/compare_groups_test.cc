#include "lib/analysis/aggregate/compare_groups.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/testing_aggregates.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(CompareGroupsTest, RanksTieWhereTheRunsDoNotSeparate) {
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
  EXPECT_FALSE(a[2].has_rank());
  EXPECT_FALSE(a[2].tied());
  EXPECT_EQ(a[0].rival(), "near");
  EXPECT_EQ(a[0].rank_of(), 3);
  EXPECT_FALSE(a[0].fastest());
  EXPECT_EQ(a[0].speed_up().evidence(), "separate");
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

TEST(CompareGroupsTest, RatiosOnlyBetweenTheSameWork) {
  Row other = OkRow("b", "Blur", 0, 300);
  other.mutable_equivalence()->set_label("different");
  Row unchecked = OkRow("c", "Blur", 0, 300);
  unchecked.clear_equivalence();
  Row equivalent = OkRow("d", "Blur", 0, 300);
  equivalent.mutable_equivalence()->set_label("equivalent");
  // Rows of another machine are never compared.
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

TEST(CompareGroupsTest, NobodyWinsWithoutEvidence) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& transform, int runs,
                       const std::string& label, const std::string& warning) {
    for (int run = 0; run < runs; ++run) {
      rows.push_back(OkRow("fast", transform, run, 1000 + run));
      rows.push_back(OkRow("slow", transform, run, 100 + run));
      rows.back().mutable_equivalence()->set_label(label);
      if (!warning.empty()) rows.back().add_warnings(warning);
    }
  };
  add("Clear", 3, "exact", "");
  add("Contended", 3, "exact", "contended");
  add("Different", 3, "different", "");
  add("Migrated", 3, "exact", "migrated");
  add("Once", 1, "exact", "");
  AggregateOptions options = ByLibrary();
  options.by = {"transform", "library"};
  options.relative_to = "slow";
  const auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok());
  std::map<std::string, bool> wins;
  std::map<std::string, std::string> evidence;
  for (size_t i = 0; i < result->aggregates.size(); i += 2) {
    const Aggregate& fast = result->aggregates[i];
    wins[fast.by().at("transform")] = fast.fastest();
    evidence[fast.by().at("transform")] = fast.speed_up().evidence();
    EXPECT_FALSE(result->aggregates[i + 1].fastest());
  }
  EXPECT_THAT(wins, ElementsAre(Pair("Clear", true), Pair("Contended", false),
                                Pair("Different", false),
                                Pair("Migrated", true), Pair("Once", false)));
  EXPECT_THAT(
      evidence,
      ElementsAre(Pair("Clear", "separate"), Pair("Contended", "disturbed"),
                  Pair("Different", ""), Pair("Migrated", "separate"),
                  Pair("Once", "few_runs")));
  EXPECT_EQ(result->aggregates[3].disturbed(), 3);
  EXPECT_EQ(result->aggregates[3].disturbances().at("contended"), 3);
  EXPECT_EQ(result->means[0].rows(), 2);
  EXPECT_EQ(result->means[0].left_out(), 3);
}

TEST(CompareGroupsTest, AColumnOfLabelsDoesNotSplitTheContest) {
  std::vector<Row> rows;
  for (int run = 0; run < 3; ++run) {
    rows.push_back(OkRow("a", "Blur", run, 1000 + run));
    rows.push_back(OkRow("b", "Blur", run, 500 + run));
    rows.back().mutable_equivalence()->set_label("equivalent");
  }
  AggregateOptions options = ByLibrary();
  options.by.push_back("equivalence.label");
  const auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->aggregates[0].fastest());
  EXPECT_EQ(result->aggregates[1].rank(), 2);
}

TEST(CompareGroupsTest, HarnessRowsAreNoLibrary) {
  std::vector<Row> rows;
  for (int run = 0; run < 3; ++run) {
    rows.push_back(OkRow("a", "Blur", run, 1000 + run));
    rows.push_back(OkRow("null", "", run, 1e6));
    rows.back().set_workers(run);
  }
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 1u);
  EXPECT_EQ(result->aggregates[0].rank_of(), 0);
  ASSERT_EQ(result->harness.size(), 1u);
  EXPECT_EQ(result->harness[0].runs(), 3);
  AggregateOptions only = ByLibrary();
  only.where = "library==\"null\"";
  EXPECT_EQ(Aggregated(only, rows)->aggregates.size(), 1u);
}

TEST(CompareGroupsTest, SpeedUpsNeedALibraryThatIsThere) {
  AggregateOptions options = ByLibrary();
  options.relative_to = "opencw";
  const auto result = Aggregated(options, {OkRow("opencv", "Blur", 0, 1)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("did you mean \"opencv\"?"));
}

}  // namespace
}  // namespace feedrate
