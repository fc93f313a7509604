#include "lib/analysis/mixture/mixture_figures.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/draw/charts.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// `datasets` data sets d0, d1, …; d0 has most samples, d1 one less, …
MixtureRun RunOf(int batches, int datasets, bool with_row = true) {
  std::vector<Batch> all;
  std::vector<std::pair<std::string, double>> weights;
  Samples samples;
  for (int d = 0; d < datasets; ++d) {
    const std::string name = absl::StrCat("d", d);
    samples.emplace_back(name, datasets - d);
    weights.emplace_back(name, 1.0 / datasets);
  }
  for (int i = 0; i < batches; ++i) {
    all.push_back(MakeBatch(i, samples, 0.001 * i));
    all.back().set_warmup(i < 8);
  }
  std::vector<Row> rows;
  if (with_row) rows.push_back(MakeMixtureRow(weights));
  return MixtureRunsOf(rows, all).at(0);
}

TEST(MixtureFiguresTest, FewBatchesHaveAColumnEach) {
  const StackedColumns chart = MixtureOverTime(RunOf(20, 2), 820);
  ASSERT_THAT(chart.columns, SizeIs(20));
  EXPECT_EQ(chart.columns[3].name, "batch 3");
  EXPECT_THAT(chart.columns[3].values, ElementsAre(2, 1));
  EXPECT_DOUBLE_EQ(chart.columns[3].below, 3);
  EXPECT_EQ(chart.mark, 8u);
  EXPECT_THAT(chart.wanted, ElementsAre(0.5, 0.5));
}

TEST(MixtureFiguresTest, ManyBatchesShareColumns) {
  const StackedColumns chart = MixtureOverTime(RunOf(1208, 3), 600);
  EXPECT_LE(chart.columns.size(), 100u);
  EXPECT_GT(chart.columns.size(), 50u);
  EXPECT_EQ(chart.columns[0].name, "batches 0 to 19");
  EXPECT_THAT(chart.columns[0].values, ElementsAre(60, 40, 20));
  EXPECT_DOUBLE_EQ(chart.columns[0].below, 9.5);
  EXPECT_EQ(chart.columns[10].label, "200");
  EXPECT_EQ(chart.columns[11].label, "");
  EXPECT_EQ(chart.mark, 1u);
  EXPECT_THAT(chart.x_title, HasSubstr("20 in a column"));
}

TEST(MixtureFiguresTest, ManyDataSetsShareGrey) {
  const StackedColumns chart = MixtureOverTime(RunOf(20, 29), 820);
  EXPECT_THAT(chart.parts, ElementsAre("d0", "d1", "d2", "d3", "d4", "d5", "d6",
                                       "22 others"));
  EXPECT_THAT(chart.colors, ElementsAre(0, 1, 2, 3, 4, 5, 7, 6));
  EXPECT_EQ(chart.columns[0].values.back(), 22 * 23 / 2);
}

TEST(MixtureFiguresTest, EightDataSetsHaveAColourEach) {
  const StackedColumns chart = MixtureOverTime(RunOf(20, 8), 820);
  EXPECT_THAT(chart.parts, SizeIs(8));
  EXPECT_THAT(chart.colors, ElementsAre(0, 1, 2, 3, 4, 5, 7, 6));
}

TEST(MixtureFiguresTest, WindowsAreFiveBatchesEveryHundred) {
  const StackedColumns chart = MixtureWindows(RunOf(203, 2), 820);
  ASSERT_THAT(chart.columns, SizeIs(5 + 5 + 3));
  EXPECT_EQ(chart.columns[5].name, "batch 100");
  EXPECT_EQ(chart.columns[5].label, "100");
  EXPECT_TRUE(chart.columns[5].starts_group);
  EXPECT_FALSE(chart.columns[6].starts_group);
  EXPECT_EQ(chart.columns[6].label, "");
}

TEST(MixtureFiguresTest, WithoutWeightsThereIsNothingToCompareWith) {
  const MixtureRun run = RunOf(20, 2, /*with_row=*/false);
  EXPECT_THAT(MixtureOverTime(run, 820).wanted, SizeIs(0));
  EXPECT_THAT(MixtureWindows(run, 820).wanted, SizeIs(0));
}

}  // namespace
}  // namespace feedrate
