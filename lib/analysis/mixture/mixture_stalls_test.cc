#include "lib/analysis/mixture/mixture_stalls.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/mixture_advice.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MixtureRun RunOf(const std::vector<Batch>& batches,
                 const std::vector<Row>& rows = {}) {
  return MixtureRunsOf(rows, batches).at(0);
}

// 40 batches of "often"; in every tenth "rare" dominates and costs `wait_s`.
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
  // Dominates often, but costs what is usual.
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
  // Present in 0 to 9, then away for 20, then in 30 to 39.
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
  // Away for 3 batches as a rule, three times for 30, and slow after that.
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
  // It dominates nothing, and still it is the one.
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

}  // namespace
}  // namespace feedrate
