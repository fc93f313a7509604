#include "lib/analysis/grid.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Aggregate Make(const std::string& library, const std::string& batch,
               double median) {
  Aggregate aggregate;
  (*aggregate.mutable_by())["library"] = library;
  (*aggregate.mutable_by())["batch_size"] = batch;
  (*aggregate.mutable_held())["machine_profile"] = "m";
  aggregate.set_status("ok");
  aggregate.set_runs(3);
  aggregate.set_unit("image");
  aggregate.set_median(median);
  aggregate.set_cv(0.012);
  aggregate.mutable_interval()->set_low(median * 0.9);
  aggregate.mutable_interval()->set_high(median * 1.1);
  return aggregate;
}

AggregateResult Four() {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("a", "10", 300),
                       Make("b", "2", 200), Make("b", "10", 150)};
  result.aggregates[2].set_rank(1);
  result.aggregates[0].set_rank(2);
  return result;
}

const std::vector<std::string>& By() {
  static const auto* const kBy =
      new std::vector<std::string>{"library", "batch_size"};
  return *kBy;
}

std::vector<std::string> TextsOf(const std::vector<GridCell>& cells) {
  std::vector<std::string> texts;
  for (const GridCell& cell : cells) texts.push_back(cell.text);
  return texts;
}

TEST(PlainGridTest, OneLineForEachGroup) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_THAT(TextsOf(grid.header),
              ElementsAre("library", "batch_size", "n", "median", "unit",
                          "95% interval", "cv", "rank", "notes"));
  ASSERT_THAT(grid.rows, SizeIs(4));
  EXPECT_THAT(TextsOf(grid.rows[0]),
              ElementsAre("a", "2", "3", "100.0", "image/s", "[90.00, 110.0]",
                          "1.2%", "2", ""));
}

TEST(PlainGridTest, NumbersStandOnTheRight) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_FALSE(grid.rows[0][0].right_aligned);
  EXPECT_TRUE(grid.rows[0][1].right_aligned);
}

TEST(PlainGridTest, TheBestIsOfTheSameBlock) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_FALSE(grid.rows[0][3].best);
  // Without a rank it is the largest median that counts.
  EXPECT_TRUE(grid.rows[1][3].best);
  EXPECT_TRUE(grid.rows[2][3].best);
  EXPECT_FALSE(grid.rows[3][3].best);
}

TEST(PlainGridTest, NothingIsBestAlone) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100)};
  EXPECT_FALSE(PlainGrid(result, By()).rows[0][3].best);
}

TEST(PlainGridTest, WhatDidNotRunSaysWhy) {
  AggregateResult result;
  Aggregate& slow = result.aggregates.emplace_back();
  (*slow.mutable_by())["library"] = "a";
  slow.set_status("early_stopped");
  slow.set_slow_marker("<=20 img/s");
  Aggregate& failed = result.aggregates.emplace_back();
  (*failed.mutable_by())["library"] = "b";
  failed.set_status("failed");
  failed.set_retries(2);
  EndedRuns& ended = *failed.add_ended();
  ended.set_status("oom");
  ended.set_reason("8 GiB");
  ended.set_runs(3);
  const Grid grid = PlainGrid(result, {"library"});
  EXPECT_EQ(grid.rows[0][2].text, "<=20 img/s");
  EXPECT_EQ(grid.rows[1][2].text, "failed");
  EXPECT_EQ(grid.rows[1].back().text, "3 oom: 8 GiB; 2 retries");
}

TEST(PivotGridTest, ColumnsAreValuesInTheirOrder) {
  const auto grid = PivotGrid(Four(), By(), "batch_size");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(TextsOf(grid->header), ElementsAre("library", "2", "10"));
  EXPECT_THAT(TextsOf(grid->rows[0]), ElementsAre("a", "100.0", "300.0"));
}

TEST(PivotGridTest, HolesStayEmptyAndUnstableOnesAreMarked) {
  AggregateResult result = Four();
  result.aggregates.pop_back();
  result.aggregates[0].add_flags("unstable");
  const auto grid = PivotGrid(result, By(), "library");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(TextsOf(grid->rows[0]), ElementsAre("2", "100.0~", "200.0"));
  EXPECT_THAT(TextsOf(grid->rows[1]), ElementsAre("10", "300.0", ""));
  EXPECT_THAT(grid->notes, ElementsAre("~ unstable"));
}

TEST(PivotGridTest, RefusesToSetMachinesSideBySide) {
  AggregateResult result = Four();
  (*result.aggregates[2].mutable_held())["machine_profile"] = "other";
  const auto grid = PivotGrid(result, By(), "library");
  EXPECT_EQ(grid.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(grid.status().message()),
              HasSubstr("--mix=machine_profile"));
}

TEST(PivotGridTest, RefusesAFieldThatIsNotInBy) {
  EXPECT_EQ(PivotGrid(Four(), By(), "librray").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FullGridTest, EveryNumberInFull) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100.123456789)};
  const Grid grid = FullGrid(result, By());
  ASSERT_EQ(grid.rows[0].size(), grid.header.size());
  EXPECT_THAT(TextsOf(grid.rows[0]), ::testing::Contains("100.123456789"));
}

TEST(ShortNumberTest, FourDigitsOrSo) {
  EXPECT_EQ(ShortNumber(123456), "123456");
  EXPECT_EQ(ShortNumber(123.456), "123.5");
  EXPECT_EQ(ShortNumber(12.3456), "12.35");
  EXPECT_EQ(ShortNumber(1.23456), "1.235");
  EXPECT_EQ(ShortNumber(0.0012345), "0.00123");
  EXPECT_EQ(ShortNumber(0), "0");
}

}  // namespace
}  // namespace feedrate
