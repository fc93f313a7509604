#include "lib/gate/paired_rows.h"

#include <cmath>

#include "gtest/gtest.h"
#include "lib/gate/testing_rows.h"

namespace feedrate {
namespace {

TEST(PairedRowsTest, SortsRowsIntoPairs) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("x", 1, "b", 4, 1));
  rows.Add(PairRow("x", 0, "a", 1));
  rows.Add(PairRow("x", 0, "b", 2));
  rows.Add(PairRow("x", 1, "a", 1, 1));
  rows.Add(PairRow("x", 2, "a", 1, 2));
  rows.Add(PairRow("y", 0, "a", 1));
  rows.Add(Row());
  Row harness = PairRow("z", 0, "a", 1);
  harness.set_library("null");
  rows.Add(harness);
  ASSERT_EQ(rows.jobs().size(), 2);
  const PairedJob& job = rows.jobs()[0];
  ASSERT_EQ(job.Differences().size(), 2);
  EXPECT_NEAR(job.Differences()[0], std::log(2), 1e-12);
  EXPECT_NEAR(job.Differences()[1], std::log(4), 1e-12);
  EXPECT_EQ(job.LastStage(), 1);
  EXPECT_NEAR(job.TypicalSeconds(true), std::sqrt(8), 1e-9);
  EXPECT_TRUE(rows.jobs()[1].Differences().empty());
  EXPECT_EQ(rows.jobs()[1].TypicalSeconds(false), 0);
  EXPECT_EQ(rows.unpaired_rows(), 1);
}

TEST(PairedRowsTest, SeveralRowsOfARunCountWithTheirMean) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("x", 0, "a", 1));
  rows.Add(PairRow("x", 0, "a", 4));
  rows.Add(PairRow("x", 0, "b", 2));
  EXPECT_NEAR(rows.jobs()[0].Differences()[0], 0, 1e-12);
}

TEST(PairedRowsTest, RemembersWhatWentWrong) {
  PairedRows rows(RunStatistic::kTypical);
  Row row = PairRow("x", 0, "b", 1);
  row.set_status("oom");
  row.set_reason("killed");
  rows.Add(row);
  row = PairRow("x", 0, "a", 1);
  row.clear_samples_s();
  rows.Add(row);
  EXPECT_EQ(rows.jobs()[0].b_problems.at("oom"), "killed");
  EXPECT_EQ(rows.jobs()[0].a_problems.count("no_time"), 1);
}

}  // namespace
}  // namespace feedrate
