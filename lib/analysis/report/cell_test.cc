#include "lib/analysis/report/cell.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<Row> Runs(const std::vector<double>& throughputs) {
  std::vector<Row> rows;
  for (size_t i = 0; i < throughputs.size(); ++i) {
    rows.push_back(MakeRow("a", "Blur", throughputs[i], static_cast<int>(i)));
  }
  return rows;
}

TEST(CellsOfTest, RunsOfAJobAreOneCell) {
  const std::vector<ReportCell> cells = CellsOf(Runs({100, 300, 200}));
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].runs, 3);
  EXPECT_EQ(cells[0].summary->median, 200);
  EXPECT_TRUE(cells[0].summary->interval.has_value());
  EXPECT_EQ(cells[0].Text(), "200");
}

TEST(CellsOfTest, WhatMustNotBeMixedIsApart) {
  std::vector<Row> rows = Runs({1, 2, 3, 4, 5});
  rows[0].set_machine_profile("other");
  rows[1].set_library_version("2.0");
  rows[2].mutable_dataset()->set_sha256("other");
  rows[3].add_labels("cold");
  rows[4].mutable_pair()->set_side("b");
  EXPECT_EQ(CellsOf(rows).size(), 5u);
}

TEST(CellsOfTest, AnOkRunBeatsAFailedOne) {
  std::vector<Row> rows = Runs({100, 0});
  rows[1].set_status("oom");
  rows[1].set_reason("8 GiB");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_EQ(cells[0].status, "ok");
  EXPECT_EQ(cells[0].failed_runs, 1);
  EXPECT_THAT(cells[0].throughputs, ElementsAre(100));
}

TEST(CellsOfTest, WithoutAnOkRunThereIsNoNumber) {
  std::vector<Row> rows = Runs({0});
  rows[0].set_status("oom");
  rows[0].set_reason("8 GiB");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_FALSE(cells[0].summary.has_value());
  EXPECT_EQ(cells[0].Text(), "oom");
  EXPECT_THAT(cells[0].Story(), HasSubstr("oom: 8 GiB"));
}

TEST(CellsOfTest, EarlyStoppedShowsWhatThePreflightSaw) {
  std::vector<Row> rows = Runs({12.3});
  rows[0].set_status("early_stopped");
  EXPECT_EQ(CellsOf(rows)[0].Text(), "≤ 12.3");
}

TEST(CellsOfTest, PeaksAndWarningsAreOverAllRuns) {
  std::vector<Row> rows = Runs({100, 200});
  rows[0].set_rss_peak_bytes(5);
  rows[1].set_rss_peak_bytes(3);
  rows[1].mutable_gpu_memory()->set_peak_allocated_bytes(9);
  rows[0].add_warnings("noisy");
  rows[1].add_warnings("noisy");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_EQ(cells[0].rss_peak_bytes, 5);
  EXPECT_EQ(cells[0].gpu_peak_bytes, 9);
  EXPECT_THAT(cells[0].warnings, ElementsAre(Pair("noisy", 2)));
  EXPECT_THAT(cells[0].Story(), HasSubstr("noisy in 2 of 2 runs"));
}

TEST(ReportCellTest, StoryTellsWhyThereIsNoInterval) {
  EXPECT_THAT(CellsOf(Runs({100}))[0].Story(),
              HasSubstr("no interval: fewer than 3 runs"));
  EXPECT_THAT(CellsOf(Runs({100, 101, 102}))[0].Story(),
              HasSubstr("95% interval "));
}

TEST(ReportCellTest, UnstableAboveFifteenPerCent) {
  EXPECT_FALSE(CellsOf(Runs({100, 110, 120}))[0].IsUnstable());
  EXPECT_TRUE(CellsOf(Runs({100, 150, 200}))[0].IsUnstable());
}

TEST(ReportCellTest, WorkIsDoneWhenExactOrEquivalent) {
  for (const char* label : {"exact", "equivalent"}) {
    std::vector<Row> rows = Runs({1});
    rows[0].mutable_equivalence()->set_label(label);
    EXPECT_TRUE(CellsOf(rows)[0].DoesTheWork()) << label;
  }
  for (const char* label : {"", "different", "noop", "unchecked"}) {
    std::vector<Row> rows = Runs({1});
    rows[0].mutable_equivalence()->set_label(label);
    EXPECT_FALSE(CellsOf(rows)[0].DoesTheWork()) << label;
  }
}

TEST(RatioOfTest, HasAnIntervalWhenBothHave) {
  const ReportCell fast = CellsOf(Runs({200, 202, 204}))[0];
  const ReportCell slow = CellsOf(Runs({100, 101, 102}))[0];
  const ReportCell single = CellsOf(Runs({50}))[0];
  const Estimate ratio = RatioOf(fast, slow);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  ASSERT_TRUE(ratio.whiskers.has_value());
  EXPECT_LT(ratio.whiskers->low, 2);
  EXPECT_GT(ratio.whiskers->high, 2);
  EXPECT_FALSE(RatioOf(fast, single).whiskers.has_value());
}

}  // namespace
}  // namespace feedrate
