#include "lib/analysis/mixture/mixture_report.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/testing/rows.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(MixtureRunTest, BatchesAreInOrderAndCountedByDataset) {
  const auto runs = MixtureRunsOf(
      {MakeMixtureRow({{"a", 0.25}, {"b", 0.75}})},
      {MakeBatch(1, {{"b", 4}}), MakeBatch(0, {{"b", 3}, {"a", 1}})});
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].datasets, ElementsAre("a", "b"));
  EXPECT_THAT(runs[0].weight_shares, ElementsAre(0.25, 0.75));
  EXPECT_THAT(runs[0].counts,
              ElementsAre(ElementsAre(1, 3), ElementsAre(0, 4)));
  EXPECT_EQ(runs[0].name, "native, mix_block_length 4");
  EXPECT_EQ(runs[0].Setting("mix_block_length"), "4");
  EXPECT_EQ(runs[0].Setting("nosuch"), "");
}

// Each takes memory in every batch: a file of 2 MB took gigabytes.
TEST(MixtureRunTest, TooManyDatasetsShareAName) {
  std::vector<Batch> batches;
  for (int i = 0; i < 1200; ++i) {
    batches.push_back(MakeBatch(i, {{absl::StrCat("d", i), i < 10 ? 5 : 1}}));
    batches.back().set_dominant(absl::StrCat("d", i));
  }
  Row row = MakeMixtureRow({{"a", 0.25}, {"b", 0.75}});
  const auto runs = MixtureRunsOf({row}, batches);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].datasets, SizeIs(1001));
  EXPECT_EQ(runs[0].datasets[0], "a");
  EXPECT_THAT(runs[0].datasets, ::testing::Contains("other data sets"));
  int64_t samples = 0;
  for (const int64_t count : runs[0].MeasuredSamples()) samples += count;
  EXPECT_EQ(samples, 1240);
  EXPECT_THAT(StallsOf(runs[0]).datasets, SizeIs(1001));
}

TEST(MixtureRunTest, WithoutARowNamesComeFromTheBatches) {
  const auto runs =
      MixtureRunsOf({}, {MakeBatch(0, {{"a", 1}, {"b", 3}, {"c", 1}})});
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].datasets, ElementsAre("b", "a", "c"));
  EXPECT_THAT(runs[0].weight_shares, IsEmpty());
  EXPECT_EQ(runs[0].name, "job j");
}

TEST(MixtureRunTest, NamesSayInWhatRunsDiffer) {
  Row other = MakeMixtureRow({{"a", 1}});
  other.set_job_id("k");
  (*other.mutable_settings())["queue_depth"] = "8";
  Row row = MakeMixtureRow({{"a", 1}});
  (*row.mutable_settings())["queue_depth"] = "4";
  Batch batch = MakeBatch(0, {{"a", 4}});
  batch.set_job_id("k");
  const auto runs =
      MixtureRunsOf({row, other}, {MakeBatch(0, {{"a", 4}}), batch});
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].name, "native, mix_block_length 4, queue_depth 4");
  EXPECT_EQ(runs[1].name, "native, mix_block_length 4, queue_depth 8");
}

TEST(MixtureRunTest, TheWarmupIsNotMeasured) {
  Batch first = MakeBatch(0, {{"a", 4}});
  first.set_warmup(true);
  const auto runs = MixtureRunsOf({}, {first, MakeBatch(1, {{"b", 4}})});
  EXPECT_EQ(runs[0].warmup, 1u);
  EXPECT_THAT(runs[0].MeasuredSamples(), ElementsAre(0, 4));
}

TEST(MixtureRunTest, ALaterAttemptReplacesABatch) {
  const auto runs =
      MixtureRunsOf({}, {MakeBatch(0, {{"a", 4}}), MakeBatch(0, {{"b", 4}})});
  EXPECT_THAT(runs[0].datasets, ElementsAre("b"));
}

TEST(MixtureRunTest, RunsAreApartAndTheFirstOfAJobCanBeHad) {
  Batch again = MakeBatch(0, {{"a", 4}});
  again.set_run_index(1);
  Batch other = MakeBatch(0, {{"a", 4}});
  other.set_job_id("i");
  const auto runs = MixtureRunsOf({}, {again, MakeBatch(0, {{"a", 4}}), other});
  ASSERT_THAT(runs, SizeIs(3));
  const auto first = FirstRuns(runs);
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].job_id, "i");
  EXPECT_EQ(first[1].run_index, 0);
}

MixtureRun RunOf(const std::vector<Batch>& batches,
                 const std::vector<Row>& rows = {}) {
  return MixtureRunsOf(rows, batches).at(0);
}

// 40 batches of "often"; in every tenth, "rare" dominates and takes `wait_s`.
std::vector<Batch> WithRare(double wait_s) {
  std::vector<Batch> batches;
  for (int i = 0; i < 40; ++i) {
    batches.push_back(i % 10 == 9
                          ? MakeBatch(i, {{"rare", 5}, {"often", 3}}, wait_s)
                          : MakeBatch(i, {{"often", 8}}, 0.1));
  }
  return batches;
}

TEST(MixtureStallsTest, TheOneThatIsWaitedForComesFirst) {
  const MixtureStalls stalls = StallsOf(RunOf(WithRare(0.9)));
  EXPECT_EQ(stalls.datasets[0].dataset, "rare");
  EXPECT_EQ(stalls.datasets[0].dominated, 4);
  EXPECT_DOUBLE_EQ(stalls.datasets[0].stall_s, 3.6);
  EXPECT_DOUBLE_EQ(stalls.datasets[0].excess_s, 3.2);
  EXPECT_DOUBLE_EQ(stalls.datasets[0].sample_share, 20.0 / 320);
  // It dominates often, but takes no longer than usual.
  EXPECT_EQ(stalls.datasets[1].dominated, 36);
  EXPECT_DOUBLE_EQ(stalls.datasets[1].excess_s, 0);
  EXPECT_DOUBLE_EQ(stalls.typical_wait_s, 0.1);
  EXPECT_NEAR(stalls.total_wait_s, 7.2, 1e-9);
  EXPECT_NEAR(stalls.wait_share, 7.2 / 40, 1e-9);
}

TEST(MixtureStallsTest, TheWarmupDoesNotCount) {
  std::vector<Batch> batches = WithRare(0.9);
  for (int i = 0; i < 10; ++i) batches[i].set_warmup(true);
  const MixtureStalls stalls = StallsOf(RunOf(batches));
  EXPECT_EQ(stalls.datasets[0].dominated, 3);
  // From batch 9, which came at 10 s, to the last at 40 s.
  EXPECT_NEAR(stalls.wait_share, (3 * 0.9 + 27 * 0.1) / 30, 1e-9);
}

TEST(MixtureStallsTest, GapsAndReturns) {
  // Present in batches 0 to 9 and 30 to 39, absent in between.
  std::vector<Batch> batches;
  for (int i = 0; i < 40; ++i) {
    const bool away = i >= 10 && i < 30;
    batches.push_back(
        away ? MakeBatch(i, {{"a", 8}})
             : MakeBatch(i, {{"a", 7}, {"b", 1}}, i == 30 ? 0.5 : 0.1));
  }
  const MixtureStalls stalls = StallsOf(RunOf(batches));
  const DatasetStalls& b = stalls.datasets[1];
  ASSERT_EQ(b.dataset, "b");
  EXPECT_EQ(b.longest_gap, 20);
  EXPECT_EQ(b.returns, 1);
  EXPECT_DOUBLE_EQ(b.return_wait_s, 0.5);
  EXPECT_EQ(stalls.datasets[0].longest_gap, 0);
  EXPECT_EQ(stalls.datasets[0].returns, 0);
}

TEST(MixtureStallsTest, EvenGapsAreNoReturns) {
  const MixtureStalls stalls = StallsOf(RunOf(WithRare(0.9)));
  EXPECT_EQ(stalls.datasets[0].longest_gap, 9);
  EXPECT_EQ(stalls.datasets[0].returns, 0);
}

TEST(MixtureAdviceTest, CostlySamplesGetFewerOrMoreThreads) {
  Row row = MakeMixtureRow({{"often", 0.9}, {"rare", 0.1}});
  (*row.mutable_settings())["decode_parallelism"] = "2";
  const MixtureRun run = RunOf(WithRare(0.9), {row});
  EXPECT_THAT(MixtureAdvice(run, StallsOf(run)),
              ElementsAre(AllOf(HasSubstr("rare dominates"), HasSubstr("9.0x"),
                                HasSubstr("decode_parallelism from 2 to 4"),
                                HasSubstr("5.0% in place of 10.0%"))));
}

TEST(MixtureAdviceTest, SlowReturnsWantMoreOpen) {
  // Usually absent for 3 batches, three times for 30, and slow after that.
  std::vector<Batch> batches;
  int i = 0;
  for (int part = 0; part < 4; ++part) {
    for (int k = 0; k < 40; ++k, ++i) {
      const bool there = k % 4 == 0;
      const bool slow = there && k == 0 && part > 0;
      batches.push_back(
          there ? MakeBatch(i, {{"a", 7}, {"b", 1}}, slow ? 0.9 : 0.1)
                : MakeBatch(i, {{"a", 8}}, 0.1));
    }
    for (int k = 0; k < 30; ++k, ++i) {
      batches.push_back(MakeBatch(i, {{"a", 8}}, 0.1));
    }
  }
  const MixtureRun run =
      RunOf(batches, {MakeMixtureRow({{"a", 0.9}, {"b", 0.1}})});
  const MixtureStalls stalls = StallsOf(run);
  // It dominates no batch, but is the culprit.
  EXPECT_EQ(stalls.datasets[0].dataset, "b");
  EXPECT_EQ(stalls.datasets[0].dominated, 0);
  EXPECT_NEAR(stalls.datasets[0].excess_s, 3 * 0.8, 1e-9);
  EXPECT_NEAR(stalls.return_excess_s, 3 * 0.8, 1e-9);
  EXPECT_THAT(MixtureAdvice(run, stalls),
              ElementsAre(AllOf(HasSubstr("b came back 3 times"),
                                HasSubstr("pipeline_interleave from 2 to 4"))));
}

TEST(MixtureAdviceTest, AFedConsumerNeedsNothing) {
  std::vector<Batch> batches;
  for (int i = 0; i < 10; ++i)
    batches.push_back(MakeBatch(i, {{"a", 8}}, 0.01));
  const MixtureRun run = RunOf(batches);
  EXPECT_THAT(MixtureAdvice(run, StallsOf(run)),
              ElementsAre(HasSubstr("keeps up")));
}

TEST(MixtureAdviceTest, WithoutACulpritTheLoaderBinds) {
  std::vector<Batch> batches;
  for (int i = 0; i < 10; ++i) batches.push_back(MakeBatch(i, {{"a", 8}}, 0.9));
  const MixtureRun run = RunOf(batches);
  EXPECT_THAT(MixtureAdvice(run, StallsOf(run)),
              ElementsAre(HasSubstr("no data set stands out")));
}

TEST(MixtureAdviceTest, LongBlocksAndLateDataSets) {
  std::vector<Batch> batches;
  for (int i = 0; i < 10; ++i) {
    batches.push_back(MakeBatch(i, {{"a", 8}}, 0.01));
  }
  batches[5].add_first_seen("b");
  Row row = MakeMixtureRow({{"a", 0.5}, {"b", 0.3}, {"c", 0.2}});
  row.mutable_mixture()->set_dominant_switch_rate(0.2);
  const MixtureRun run = RunOf(batches, {row});
  EXPECT_THAT(
      MixtureAdvice(run, StallsOf(run)),
      ElementsAre(HasSubstr("keeps up"),
                  HasSubstr("mix_block_length from 4 to 2"),
                  HasSubstr("1 data set was first seen after the warm-up")));
}

std::vector<Batch> Batches() {
  std::vector<Batch> batches;
  for (int i = 0; i < 20; ++i) {
    batches.push_back(i % 5 == 4 ? MakeBatch(i, {{"b", 6}, {"a", 2}}, 0.4)
                                 : MakeBatch(i, {{"a", 7}, {"b", 1}}, 0.1));
  }
  batches[0].add_first_seen("a");
  batches[0].add_first_seen("b");
  batches[0].set_wait_s(0.9);
  return batches;
}

TEST(MixtureSummaryTest, SaysFactsStallsWaitsAndAdvice) {
  Row row = MakeMixtureRow({{"a", 0.7}, {"b", 0.3}});
  row.add_labels("indicative");
  row.mutable_mixture()->set_teardown_killed(true);
  row.mutable_mixture()->set_skipped(3);
  const std::string text = MixtureSummary(MixtureRunsOf({row}, Batches()));
  EXPECT_THAT(text, HasSubstr("native, mix_block_length 4"));
  EXPECT_THAT(text, HasSubstr("640 samples/s, 10.0 batches/s"));
  EXPECT_THAT(text, HasSubstr("mixture error: 2.1%"));
  EXPECT_THAT(text, HasSubstr("(killed)"));
  EXPECT_THAT(text, HasSubstr("left out: 3"));
  EXPECT_THAT(text, HasSubstr("labels: indicative"));
  EXPECT_THAT(text, HasSubstr("Data sets by the stalls they cause"));
  EXPECT_THAT(text, HasSubstr("    0      900  a             87.5%  a b"));
  EXPECT_THAT(text, HasSubstr("b dominates are waited for 4.0x"));
  // One slow start proves nothing about its data set.
  EXPECT_THAT(text, Not(HasSubstr("a dominates")));
  EXPECT_THAT(text, Not(HasSubstr("first seen after")));
}

TEST(MixtureSummaryTest, WithoutARowItSaysWhatBatchesKnow) {
  const std::string text = MixtureSummary(MixtureRunsOf({}, Batches()));
  EXPECT_THAT(text, HasSubstr("batches: 20 measured after 0 of warm-up"));
  EXPECT_THAT(text, HasSubstr("waited: 4.00 s"));
  EXPECT_THAT(text, Not(HasSubstr("samples/s")));
}

TEST(MixtureSummaryTest, StallsCanBeSortedByNumbers) {
  const MixtureRun run = MixtureRunsOf({}, Batches()).at(0);
  const DocumentTable table = StallTable(StallsOf(run));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][0].text, "b");
  EXPECT_EQ(table.rows[0][3].value, 4);
  EXPECT_EQ(table.rows[0][1].text, "–");
}

// A run with `datasets` data sets d0, d1, …; d0 has the most samples, d1 one
// less, …
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

TEST(MixtureFiguresTest, ManyDataSetsShareGray) {
  const StackedColumns chart = MixtureOverTime(RunOf(20, 29), 820);
  EXPECT_THAT(chart.parts, ElementsAre("d0", "d1", "d2", "d3", "d4", "d5", "d6",
                                       "22 others"));
  EXPECT_THAT(chart.colors, ElementsAre(0, 1, 2, 3, 4, 5, 7, 6));
  EXPECT_EQ(chart.columns[0].values.back(), 22 * 23 / 2);
}

TEST(MixtureFiguresTest, EightDataSetsHaveAColorEach) {
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
