#include "lib/analysis/mixture/mixture_run.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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

}  // namespace
}  // namespace feedrate
