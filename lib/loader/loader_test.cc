// Batches: their content and order, for any number of workers; and faults.
#include "lib/loader/loader.h"

#include <set>
#include <stdexcept>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/small_corpus.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A copy of one batch.
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

// Draws of every kind: position of the crop, whether, which, and OpenCV's own.
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
  // A longer epoch than the first one gets the memory it needs.
  EXPECT_THAT(RunAll(loader.get(), 0, {0, 1}), SizeIs(1));
  EXPECT_THAT(RunAll(loader.get(), 0, {0, 30}), SizeIs(5));
}

TEST(LoaderTest, DroppingTheLastBatchDropsOtherItemsInEachEpoch) {
  LoaderOptions options = Options(1);
  options.shuffle = options.drop_last = true;
  auto loader = Loader::Create(Folder(9), options);
  ASSERT_TRUE(loader.ok()) << loader.status();
  std::set<int64_t> items;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Batches batches = RunAll(loader->get(), epoch);
    ASSERT_THAT(batches, SizeIs(1));
    items.insert(batches[0].items.begin(), batches[0].items.end());
  }
  EXPECT_THAT(items, SizeIs(9));
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

// Broken files, and workers that throw.

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

LoaderOptions Options(int workers, OnError on_error) {
  LoaderOptions options;
  options.recipe.crop = 16;
  options.batch_size = 4;
  options.workers = workers;
  options.on_error = on_error;
  return options;
}

struct Result {
  absl::Status status;
  std::vector<int64_t> items;
  std::vector<float> values;
  int64_t faults = 0;
  std::vector<ItemFault> named;
};

Result RunAll(std::unique_ptr<Source> source, const LoaderOptions& options) {
  const auto loader = *Loader::Create(std::move(source), options);
  const auto epoch = *loader->StartEpoch(0);
  Result result;
  for (;;) {
    const auto batch = epoch->Next();
    result.status = batch.status();
    if (!batch.ok() || *batch == nullptr) break;
    for (int64_t item : (*batch)->items) result.items.push_back(item);
    result.values.insert(result.values.end(), (*batch)->data,
                         (*batch)->data + (*batch)->bytes() / 4);
  }
  epoch->Stop();
  result.faults = epoch->faults().total();
  result.named = epoch->faults().all();
  return result;
}

TEST(LoaderFaultTest, TheItemBehindTakesThePlaceOfABrokenOne) {
  const std::string folder = TestFolder(10, {2, 3, 9});
  Result want;
  for (const int workers : {0, 1, 4}) {
    for (const ReadMethod method :
         {ReadMethod::kInline, ReadMethod::kThreads}) {
      LoaderOptions options = Options(workers, OnError::kSkip);
      options.read_ahead.method = method;
      const Result got = RunAll(*FolderSource(folder), options);
      ASSERT_TRUE(got.status.ok()) << got.status;
      EXPECT_THAT(got.items, ElementsAre(0, 1, 4, 4, 4, 5, 6, 7, 8, 0));
      EXPECT_EQ(got.faults, 3);
      ASSERT_THAT(got.named, SizeIs(3));
      EXPECT_THAT(got.named[0].name, HasSubstr("002.jpg"));
      EXPECT_THAT(got.named[0].reason, HasSubstr("JPEG"));
      EXPECT_EQ(got.named[2].item, 9);
      if (want.values.empty()) want = got;
      EXPECT_EQ(got.values, want.values);
    }
  }
}

TEST(LoaderFaultTest, OrTheEpochEndsWithItsName) {
  for (const int workers : {0, 1, 4}) {
    const Result got = RunAll(*FolderSource(TestFolder(10, {5})),
                              Options(workers, OnError::kFail));
    EXPECT_TRUE(absl::IsInvalidArgument(got.status)) << got.status;
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("005.jpg: JPEG"));
  }
}

TEST(LoaderFaultTest, FilesThatAreGoneOrOfAnotherKind) {
  const std::string folder = TestFolder(6);
  WriteTestFile(folder, "001.jpg", "GIF89a");
  std::vector<ListedFile> files;
  for (const char* name : {"000.jpg", "001.jpg", "none.jpg", "003.jpg"}) {
    files.push_back({folder + "/" + name, -1});
  }
  const Result got = RunAll(ListSource(files), Options(2, OnError::kSkip));
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_THAT(got.items, ElementsAre(0, 3, 3, 3));
  EXPECT_EQ(got.faults, 2);
}

TEST(LoaderFaultTest, NothingButBrokenFilesIsAnError) {
  for (const int workers : {0, 2}) {
    const Result got = RunAll(*FolderSource(TestFolder(3, {0, 1, 2})),
                              Options(workers, OnError::kSkip));
    EXPECT_FALSE(got.status.ok());
    EXPECT_THAT(std::string(got.status.message()),
                HasSubstr("none of the 2 items behind"));
  }
}

// A source whose item 6 throws, as a library might.
class ThrowingSource : public Source {
 public:
  ThrowingSource() : files_(*FolderSource(TestFolder(12))) {}
  int64_t size() const override { return files_->size(); }
  std::string name(int64_t item) const override { return files_->name(item); }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    if (item == 6) throw std::runtime_error("out of luck");
    return files_->Read(item, buffer);
  }

 private:
  std::unique_ptr<Source> files_;
};

TEST(LoaderFaultTest, AWorkerThatThrowsStopsTheEpochWithTheFile) {
  for (const auto& [workers, method] : {std::pair(0, ReadMethod::kInline),
                                        {1, ReadMethod::kInline},
                                        {4, ReadMethod::kInline},
                                        {2, ReadMethod::kThreads}}) {
    LoaderOptions options = Options(workers, OnError::kSkip);
    options.read_ahead.method = method;
    const Result got = RunAll(std::make_unique<ThrowingSource>(), options);
    EXPECT_EQ(got.status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("006.jpg"));
    EXPECT_THAT(std::string(got.status.message()), HasSubstr("out of luck"));
  }
}

TEST(LoaderFaultTest, ATransformThatThrowsDoesToo) {
  LoaderOptions options = Options(2, OnError::kSkip);
  TransformSpec spec;
  // There is no gray for nine channels.
  spec.native_op = "cv::cvtColor";
  spec.params = {"code=COLOR_RGB2GRAY", "back=COLOR_GRAY2RGB"};
  options.recipe.channels = 9;
  options.recipe.steps = {{{spec}, 1}};
  const auto loader = Loader::Create(*FolderSource(TestFolder(3)), options);
  EXPECT_FALSE(loader.ok());
  EXPECT_THAT(std::string(loader.status().message()), HasSubstr("throws"));
}

// Batches that the consumer keeps.

TEST(LoaderKeepTest, KeptBatchesStayAsTheyAre) {
  const std::string folder = TestFolder(40);
  for (const int workers : {0, 2}) {
    LoaderOptions options = Options(workers);
    options.shuffle = true;
    auto loader = Make(*FolderSource(folder), options);
    const Batches want = RunAll(loader.get(), 1);
    std::vector<std::unique_ptr<KeptBatch>> kept;
    auto epoch = *loader->StartEpoch(1);
    for (;;) {
      while (!epoch->WaitFor(0.01)) {
      }
      auto batch = *epoch->NextKept();
      if (batch == nullptr) break;
      kept.push_back(std::move(batch));
    }
    ASSERT_EQ(kept.size(), want.size());
    epoch.reset();
    loader.reset();
    for (size_t i = 0; i < want.size(); ++i) {
      const LoaderBatch& batch = kept[i]->batch;
      const Kept found = {
          batch.items,
          {batch.data, batch.data + batch.bytes() / sizeof(float)}};
      EXPECT_TRUE(found == want[i]) << i;
    }
  }
}

TEST(LoaderKeepTest, MemoryThatComesBackIsUsedAgain) {
  const auto loader = Make(Folder(40), Options(1));
  std::set<const float*> places;
  for (int round = 0; round < 5; ++round) {
    auto epoch = *loader->StartEpoch(round);
    std::unique_ptr<KeptBatch> last;
    for (;;) {
      // Two at a time, as in a loop that assigns.
      auto batch = *epoch->NextKept();
      if (batch == nullptr) break;
      places.insert(batch->batch.data);
      last = std::move(batch);
    }
  }
  EXPECT_LE(places.size(), 4u);
}

TEST(LoaderShareTest, APartContinuesTheEpoch) {
  LoaderOptions options = Options(2);
  options.shuffle = true;
  options.batch_size = 5;
  options.mix.kind = MixKind::kMixup;
  const auto loader = Make(Folder(40), options);
  const auto run = [&loader](int64_t start) {
    EpochShare share;
    share.start = start;
    share.rank = 1;
    share.world = 2;
    return Collect((*loader->StartShare(0, 4, share)).get());
  };
  const Batches all = run(0);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_TRUE(run(20) == Batches(all.begin() + 2, all.end()));
  EpochShare wrong;
  wrong.rank = 1;
  EXPECT_TRUE(
      absl::IsInvalidArgument(loader->StartShare(0, 0, wrong).status()));
}

TEST(LoaderShareTest, SharesHaveAsManyBatches) {
  LoaderOptions options = Options(2);
  options.batch_size = 4;
  // 9, 8 and 8 items: the last two have a batch of 3 before the last.
  const auto loader = Make(Folder(25), options);
  const auto sizes = [&loader](EpochShare share) {
    std::vector<int> found;
    const auto epoch = *loader->StartShare(0, 0, share);
    while (const LoaderBatch* batch = *epoch->Next()) {
      found.push_back(batch->size);
    }
    EXPECT_EQ(share.Batches(25, 4), static_cast<int64_t>(found.size()));
    return found;
  };
  EXPECT_THAT(sizes({0, 0, 3}), ElementsAre(4, 4, 1));
  EXPECT_THAT(sizes({0, 1, 3}), ElementsAre(4, 3, 1));
  EXPECT_THAT(sizes({0, 2, 3}), ElementsAre(4, 3, 1));
  const EpochShare share{0, 0, 3};
  EXPECT_EQ(share.StartAfter(1, 25, 4), 12);
  EXPECT_EQ(share.StartAfter(2, 25, 4), 22);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(sizes({22, rank, 3}), ElementsAre(1));
  }
  // Nothing can be split.
  EXPECT_THAT(sizes({24, 0, 3}), ElementsAre(1));
  EXPECT_THAT(sizes({24, 1, 3}), ElementsAre());
}

TEST(LoaderKeepTest, BytesAreNotMixed) {
  LoaderOptions options = Options(1);
  options.recipe.format = SampleFormat::kBytePixels;
  EXPECT_TRUE(Loader::Create(Folder(3), options).ok());
  options.mix.kind = MixKind::kMixup;
  EXPECT_THAT(
      std::string(Loader::Create(Folder(3), options).status().message()),
      HasSubstr("float32"));
}

TEST(FaultListTest, HasEachItemOnceByPosition) {
  FaultList faults;
  for (int64_t position = 300; position > 0; --position) {
    faults.Add({position, position % 100, "name", "reason"});
  }
  EXPECT_EQ(faults.total(), 100);
  const auto all = faults.all();
  ASSERT_EQ(all.size(), 100);
  EXPECT_EQ(all.front().position, 1);
  EXPECT_EQ(all.back().position, 100);
  EXPECT_EQ(all.back().item, 0);
}

}  // namespace
}  // namespace feedrate
