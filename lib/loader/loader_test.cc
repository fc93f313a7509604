// Batches: what is in them, in which order, whoever makes them.
#include "lib/loader/loader.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/loader/epoch.h"
#include "lib/loader/file_source.h"
#include "lib/loader/memory_source.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One batch, kept.
struct Kept {
  std::vector<int64_t> items;
  std::vector<float> values;
  bool operator==(const Kept& other) const {
    return items == other.items && values == other.values;
  }
};
using Batches = std::vector<Kept>;

TransformSpec Spec(const std::string& op, std::vector<std::string> params) {
  TransformSpec spec;
  spec.transform = op;
  spec.native_op = op;
  spec.params = std::move(params);
  return spec;
}

// Draws of every kind: where to crop, whether, which, and OpenCV's own.
LoaderOptions Options(int workers) {
  LoaderOptions options;
  options.recipe.crop = 16;
  options.recipe.steps = {
      {{Spec("cv::flip", {"flip_code=1"})}, 0.5},
      {{Spec("cv::bitwise_not", {}), Spec("cv::LUT", {"threshold=128"})}, 1},
      {{Spec("cv::randn+cv::add", {"mean=0", "std=9"})}, 1}};
  options.batch_size = 7;
  options.workers = workers;
  options.seed = 11;
  return options;
}

std::unique_ptr<Source> Folder(int count) {
  return *FolderSource(TestFolder(count));
}

Batches Collect(Epoch* epoch) {
  Batches batches;
  for (;;) {
    const absl::StatusOr<const LoaderBatch*> batch = epoch->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || *batch == nullptr) return batches;
    EXPECT_EQ((*batch)->index, static_cast<int64_t>(batches.size()));
    const float* const data = (*batch)->data;
    const int64_t values = (*batch)->bytes() / sizeof(float);
    batches.push_back({(*batch)->items, {data, data + values}});
  }
}

Batches RunAll(Loader* loader, int64_t epoch, EpochRange range = {}) {
  auto started = loader->StartEpoch(epoch, range);
  EXPECT_TRUE(started.ok()) << started.status();
  return Collect(started->get());
}

std::unique_ptr<Loader> Make(std::unique_ptr<Source> source,
                             const LoaderOptions& options,
                             std::unique_ptr<DeviceCopy> copy = nullptr) {
  auto loader =
      Loader::Create(std::move(source), options, nullptr, std::move(copy));
  EXPECT_TRUE(loader.ok()) << loader.status();
  return *std::move(loader);
}

TEST(LoaderTest, TheSameBatchesForAnyNumberOfWorkersAndWayOfReading) {
  const std::string folder = TestFolder(40);
  LoaderOptions options = Options(0);
  options.shuffle = true;
  const Batches want = RunAll(Make(*FolderSource(folder), options).get(), 3);
  ASSERT_THAT(want, SizeIs(6));
  for (const int workers : {1, 2, 5}) {
    for (const ReadMethod method :
         {ReadMethod::kInline, ReadMethod::kThreads, ReadMethod::kIoUring}) {
      options.workers = workers;
      options.buffers = workers;
      options.read_ahead.method = method;
      options.read_ahead.depth = 3;
      const auto loader = Make(*FolderSource(folder), options);
      const auto epoch = loader->StartEpoch(3);
      if (absl::IsUnimplemented(epoch.status())) continue;
      ASSERT_TRUE(epoch.ok()) << epoch.status();
      EXPECT_TRUE(Collect(epoch->get()) == want) << workers;
    }
  }
}

TEST(LoaderTest, SeedAndEpochDecideTheDraws) {
  const std::string folder = TestFolder(9);
  const auto loader = Make(*FolderSource(folder), Options(2));
  const Batches first = RunAll(loader.get(), 0);
  EXPECT_TRUE(RunAll(loader.get(), 0) == first);
  EXPECT_FALSE(RunAll(loader.get(), 1) == first);
  LoaderOptions other = Options(2);
  other.seed = 12;
  EXPECT_FALSE(RunAll(Make(*FolderSource(folder), other).get(), 0) == first);
}

TEST(LoaderTest, ASampleAloneIsThatOfTheBatch) {
  const auto loader = Make(Folder(9), Options(2));
  const Batches batches = RunAll(loader.get(), 4);
  std::vector<float> sample(loader->shape().values());
  ASSERT_TRUE(loader->MakeSample(11, 4, 8, sample.data()).ok());
  const std::vector<float>& last = batches[1].values;
  EXPECT_EQ(sample, std::vector<float>(last.end() - sample.size(), last.end()));
  EXPECT_FALSE(loader->MakeSample(11, 4, 9, sample.data()).ok());
}

TEST(LoaderTest, SizesOfSetsAndBatches) {
  EXPECT_THAT(RunAll(Make(ListSource({}), Options(2)).get(), 0), SizeIs(0));
  EXPECT_THAT(RunAll(Make(ListSource({}), Options(0)).get(), 0), SizeIs(0));
  const Batches one = RunAll(Make(Folder(1), Options(2)).get(), 0);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_THAT(one[0].items, ElementsAre(0));
  LoaderOptions large = Options(3);
  large.batch_size = 1000000;
  const Batches few = RunAll(Make(Folder(5), large).get(), 0);
  ASSERT_THAT(few, SizeIs(1));
  EXPECT_THAT(few[0].items, ElementsAre(0, 1, 2, 3, 4));
  LoaderOptions drop = Options(2);
  drop.drop_last = true;
  EXPECT_THAT(RunAll(Make(Folder(20), drop).get(), 0), SizeIs(2));
  EXPECT_THAT(RunAll(Make(Folder(5), drop).get(), 0), SizeIs(0));
}

TEST(LoaderTest, ARangeGoesRound) {
  const auto loader = Make(Folder(5), Options(2));
  const Batches batches = RunAll(loader.get(), 0, {3, 9});
  ASSERT_THAT(batches, SizeIs(2));
  EXPECT_THAT(batches[0].items, ElementsAre(3, 4, 0, 1, 2, 3, 4));
  EXPECT_THAT(batches[1].items, ElementsAre(0, 1));
  // A longer epoch than the first gets the memory it needs.
  EXPECT_THAT(RunAll(loader.get(), 0, {0, 1}), SizeIs(1));
  EXPECT_THAT(RunAll(loader.get(), 0, {0, 30}), SizeIs(5));
}

TEST(LoaderTest, PersistentWorkersDoTheSame) {
  const std::string folder = TestFolder(20);
  const auto fresh = Make(*FolderSource(folder), Options(2));
  LoaderOptions options = Options(2);
  options.persistent = true;
  const auto loader = Make(*FolderSource(folder), options);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_TRUE(RunAll(loader.get(), epoch) == RunAll(fresh.get(), epoch));
  }
}

TEST(LoaderTest, TheCopyStageDeliversTheSame) {
  const std::string folder = TestFolder(40);
  for (const int workers : {0, 2}) {
    const LoaderOptions options = Options(workers);
    const Batches want = RunAll(Make(*FolderSource(folder), options).get(), 0);
    const auto loader =
        Make(*FolderSource(folder), options, std::make_unique<HostCopy>());
    auto epoch = *loader->StartEpoch(0);
    EXPECT_TRUE(Collect(epoch.get()) == want);
    epoch->Stop();
    EXPECT_EQ(epoch->stages().back().name, "copy");
    EXPECT_GT(epoch->stages().back().busy_s, 0);
  }
}

TEST(LoaderTest, DecodedImagesInMemory) {
  const Corpus corpus = SmallCorpus({{1, 30, 40, 9}, {1, 17, 50, 9}});
  LoaderOptions options = Options(2);
  options.recipe.channels = 9;
  options.recipe.steps.clear();
  const auto loader = Make(*MemorySource(corpus), options);
  EXPECT_EQ(loader->shape().values(), 9 * 16 * 16);
  const Batches batches = RunAll(loader.get(), 0, {0, 20});
  ASSERT_THAT(batches, SizeIs(3));
  options.workers = 0;
  const auto alone = Make(*MemorySource(corpus), options);
  EXPECT_TRUE(RunAll(alone.get(), 0, {0, 20}) == batches);
}

TEST(LoaderTest, MixedBatchesDoNotDependOnWhoMixes) {
  const std::string folder = TestFolder(30);
  for (const MixKind kind : {MixKind::kMixup, MixKind::kCutMix}) {
    LoaderOptions options = Options(0);
    const Batches plain = RunAll(Make(*FolderSource(folder), options).get(), 0);
    options.mix = {kind, 1.0};
    const Batches want = RunAll(Make(*FolderSource(folder), options).get(), 0);
    EXPECT_FALSE(want == plain);
    options.workers = 4;
    EXPECT_TRUE(RunAll(Make(*FolderSource(folder), options).get(), 0) == want);
  }
}

TEST(LoaderTest, AblationsKeepTheShape) {
  for (const Ablation ablation :
       {Ablation::kNoAugment, Ablation::kNoDecode, Ablation::kCachedBatch}) {
    LoaderOptions options = Options(2);
    options.ablation = ablation;
    const Batches batches = RunAll(Make(Folder(20), options).get(), 0);
    ASSERT_THAT(batches, SizeIs(3));
    EXPECT_THAT(batches[0].items, ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_THAT(batches[2].values, SizeIs(6 * 3 * 16 * 16));
  }
}

TEST(LoaderTest, SaysWhereTheTimeWent) {
  const auto loader = Make(Folder(20), Options(2));
  auto epoch = *loader->StartEpoch(0);
  Collect(epoch.get());
  epoch->Stop();
  std::vector<std::string> names;
  for (const StageReport& stage : epoch->stages()) {
    names.push_back(stage.name);
    EXPECT_GT(stage.busy_s, 0) << stage.name;
  }
  EXPECT_THAT(names, ElementsAre("read", "decode", "augment", "collate"));
}

TEST(LoaderTest, RefusesOptionsThatCannotBe) {
  LoaderOptions options = Options(2);
  options.batch_size = 0;
  EXPECT_THAT(
      std::string(Loader::Create(Folder(1), options).status().message()),
      HasSubstr("batch_size"));
  const auto loader = Make(Folder(1), Options(1));
  EXPECT_FALSE(loader->StartEpoch(0, {-1, 1}).ok());
}

}  // namespace
}  // namespace feedrate
