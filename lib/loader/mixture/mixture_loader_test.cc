#include "lib/loader/mixture/mixture_loader.h"

#include <set>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/testing.h"

namespace feedrate {
namespace {

TestRun Mixed(const std::vector<MixtureSource>& sources,
              const MixtureOptions& options) {
  absl::StatusOr<TestRun> run = RunMixture(sources, options);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *std::move(run) : TestRun();
}

std::vector<std::string> Lines(const TestRun& run) {
  std::vector<std::string> lines;
  for (const TestBatch& batch : run.batches) {
    for (const auto line :
         absl::StrSplit(batch.metadata, '\n', absl::SkipEmpty())) {
      lines.emplace_back(line);
    }
  }
  return lines;
}

TEST(MixtureLoaderTest, TheSameBatchesForAnyParallelism) {
  const std::vector<MixtureSource> sources = TestMixture();
  for (const int samples : {0, 1, 5}) {
    MixtureOptions options = TestOptions(200);
    options.spec.metadata = "full";
    options.spec.samples_per_episode = samples;
    options.spec.decode_parallelism = 1;
    options.spec.pipeline_interleave = 1;
    const TestRun first = Mixed(sources, options);
    ASSERT_EQ(first.batches.size(), 25);
    for (const int threads : {2, 5}) {
      options.spec.decode_parallelism = threads;
      options.spec.pipeline_interleave = threads;
      options.spec.queue_depth = threads;
      EXPECT_TRUE(first.batches == Mixed(sources, options).batches)
          << samples << " samples, " << threads << " threads";
    }
  }
}

TEST(MixtureLoaderTest, AnotherSeedIsAnotherRun) {
  const std::vector<MixtureSource> sources = TestMixture();
  MixtureOptions options = TestOptions(64);
  const TestRun first = Mixed(sources, options);
  options.seed = 8;
  EXPECT_FALSE(first.batches == Mixed(sources, options).batches);
}

TEST(MixtureLoaderTest, AnInterruptedMixtureContinues) {
  const std::vector<MixtureSource> sources = TestMixture();
  for (const int samples : {0, 5}) {
    MixtureOptions options = TestOptions(200);
    options.spec.metadata = "full";
    options.spec.samples_per_episode = samples;
    // So that it is interrupted within a block.
    options.spec.mix_block_length = 3;
    std::vector<TestBatch> whole = Mixed(sources, options).batches;
    options.done = 11 * 8;
    options.count -= options.done;
    whole.erase(whole.begin(), whole.begin() + 11);
    EXPECT_TRUE(Mixed(sources, options).batches == whole) << samples;
  }
}

// Also over many passes: three interruptions, and each time another position.
TEST(MixtureLoaderTest, AnInterruptedMixtureContinuesAtItsPlaces) {
  const std::vector<MixtureSource> sources = TestMixture();
  for (const int shuffle_buffer : {1, 3}) {
    MixtureOptions options = TestOptions(4000);
    options.spec.shuffle_buffer = shuffle_buffer;
    options.spec.mix_block_length = 3;
    options.spec.metadata = "full";
    const std::vector<TestBatch> whole = Mixed(sources, options).batches;
    MixtureMemory memory;
    ASSERT_TRUE(memory.Reserve(options.spec).ok());
    size_t at = 0;
    for (const size_t batches : {1, 11, 207}) {
      auto loader = MixtureLoader::Start(sources, options, &memory);
      ASSERT_TRUE(loader.ok()) << loader.status();
      for (size_t i = 0; i < batches; ++i) ASSERT_TRUE((*loader)->Next().ok());
      at += batches;
      options.places = (*loader)->Places();
      options.done = static_cast<int64_t>(at) * 8;
      options.count = 4000 - options.done;
      EXPECT_TRUE(Mixed(sources, options).batches ==
                  std::vector<TestBatch>(whole.begin() + at, whole.end()))
          << at;
    }
    options.places.pop_back();
    EXPECT_FALSE(MixtureLoader::Start(sources, options, &memory).ok());
  }
}

// A checkpoint of somebody else: with the sums that fit, and places that are
// none, or so far away that nobody has been there.
TEST(MixtureLoaderTest, PlacesThatCannotBeEndAtOnce) {
  const std::vector<MixtureSource> sources = TestMixture();
  MixtureMemory memory;
  MixtureOptions options = TestOptions(64);
  ASSERT_TRUE(memory.Reserve(options.spec).ok());
  constexpr int64_t kFar = int64_t{1} << 53;
  const std::vector<StreamPlace> start(3);
  for (const StreamPlace wrong :
       {StreamPlace{kFar, 0}, StreamPlace{0, kFar}, StreamPlace{-2, 0},
        StreamPlace{0, -1}, StreamPlace{kFar, kFar}}) {
    for (const int64_t done : {int64_t{8}, kFar}) {
      options.places = start;
      options.places[1] = wrong;
      options.done = done;
      auto loader = MixtureLoader::Start(sources, options, &memory);
      if (!loader.ok()) {
        EXPECT_THAT(std::string(loader.status().message()),
                    HasSubstr("interrupt"));
        continue;
      }
      for (int i = 0; i < 8; ++i) ASSERT_TRUE((*loader)->Next().ok());
    }
  }
}

TEST(MixtureLoaderTest, MetadataChangesNoFrame) {
  const std::vector<MixtureSource> sources = TestMixture();
  MixtureOptions options = TestOptions(64);
  const TestRun none = Mixed(sources, options);
  EXPECT_EQ(none.batches[0].metadata, "");
  for (const char* mode : {"dataset_only", "full"}) {
    options.spec.metadata = mode;
    const TestRun run = Mixed(sources, options);
    ASSERT_EQ(run.batches.size(), none.batches.size());
    for (size_t i = 0; i < run.batches.size(); ++i) {
      EXPECT_EQ(run.batches[i].frames, none.batches[i].frames);
      EXPECT_NE(run.batches[i].metadata, "");
    }
  }
}

TEST(MixtureLoaderTest, BlocksComeFromOneDataSet) {
  MixtureOptions options = TestOptions(240);
  options.spec.mix_block_length = 4;
  const TestRun run = Mixed(TestMixture(), options);
  int64_t samples[3] = {};
  for (const TestBatch& batch : run.batches) {
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 4; ++j) {
        EXPECT_EQ(batch.datasets[i + j], batch.datasets[i]);
        ++samples[batch.datasets[i + j]];
      }
    }
  }
  // 60 blocks at 5 : 3 : 1; four standard deviations either way.
  EXPECT_GT(samples[0], samples[2]);
  EXPECT_NEAR(samples[0] / 240.0, 5.0 / 9, 0.26);
}

TEST(MixtureLoaderTest, PrimingComesFirst) {
  MixtureOptions options = TestOptions(16);
  options.spec.prime_each_dataset_samples = 2;
  options.spec.mix_block_length = 1;
  const TestRun run = Mixed(TestMixture(), options);
  const std::vector<int64_t>& first = run.batches[0].datasets;
  EXPECT_EQ(std::vector<int64_t>(first.begin(), first.begin() + 6),
            (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
}

TEST(MixtureLoaderTest, AllPairsComeInOrder) {
  MixtureOptions options = TestOptions(19);
  options.spec.metadata = "full";
  options.spec.samples_per_episode = 0;
  // One episode of 20 frames.
  const std::vector<MixtureSource> sources = {TestMixture()[2]};
  const std::vector<std::string> lines = Lines(Mixed(sources, options));
  ASSERT_EQ(lines.size(), 19);
  EXPECT_EQ(lines[0],
            "0 episode-200 0 do thing 200 200,200.25,200.5 -200,-200.5");
  EXPECT_EQ(lines[18],
            "0 episode-200 18 do thing 200 218,218.25,218.5 -218,-218.5");
}

// Frames of one episode, decoded one by one according to `lines`.
std::string DecodedAlone(const std::vector<std::string>& lines, int offset,
                         const FrameShape& shape) {
  FrameDecoder decoder;
  std::string frames;
  std::string frame(shape.bytes(), 0);
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const int step = std::stoi(words[2]);
    for (const int at : {step, step + offset}) {
      EXPECT_TRUE(decoder
                      .Decode(TestJpeg(16, 64, 200 + at), shape,
                              reinterpret_cast<uint8_t*>(frame.data()))
                      .ok());
      frames += frame;
    }
  }
  return frames;
}

TEST(MixtureLoaderTest, ASharedFrameIsTheSameAsADecodedOne) {
  MixtureOptions options = TestOptions(48);
  options.spec.metadata = "full";
  const FrameShape shape = {options.spec.frame_height,
                            options.spec.frame_width};
  // One episode of 20 frames.
  const std::vector<MixtureSource> sources = {TestMixture()[2]};
  // All in order, and twelve in any order.
  for (const int samples : {0, 12}) {
    for (const int offset : {1, 3}) {
      for (const int block : {1, 4, 8}) {
        options.spec.samples_per_episode = samples;
        options.spec.pair_offset = offset;
        options.spec.mix_block_length = block;
        const TestRun run = Mixed(sources, options);
        std::string frames;
        for (const TestBatch& batch : run.batches) frames += batch.frames;
        EXPECT_TRUE(frames == DecodedAlone(Lines(run), offset, shape))
            << samples << " " << offset << " " << block;
      }
    }
  }
}

TEST(MixtureLoaderTest, PairsOfAnEpisodeAreDistinct) {
  MixtureOptions options = TestOptions(50);
  options.spec.metadata = "full";
  options.spec.samples_per_episode = 10;
  const std::vector<MixtureSource> sources = {TestMixture()[2]};
  const std::vector<std::string> lines = Lines(Mixed(sources, options));
  std::set<std::string> orders;
  for (int pass = 0; pass < 5; ++pass) {
    const std::set<std::string> pairs(lines.begin() + 10 * pass,
                                      lines.begin() + 10 * pass + 10);
    EXPECT_EQ(pairs.size(), 10) << pass;
    orders.insert(lines[10 * pass]);
  }
  EXPECT_GT(orders.size(), 1) << "each pass draws anew";
}

TEST(MixtureLoaderTest, ALastBatchMayBeSmaller) {
  const TestRun run = Mixed(TestMixture(), TestOptions(13));
  ASSERT_EQ(run.batches.size(), 2);
  EXPECT_EQ(run.batches[1].datasets.size(), 5);
  EXPECT_EQ(run.batches[1].frames.size(), 5 * 2 * 24 * 24 * 3);
}

TEST(MixtureLoaderTest, CanBeStoppedAtAnyTime) {
  const std::vector<MixtureSource> sources = TestMixture();
  const MixtureOptions options = TestOptions(1 << 20);
  MixtureMemory memory;
  ASSERT_TRUE(memory.Reserve(options.spec).ok());
  for (int batches = 0; batches < 4; ++batches) {
    auto loader = MixtureLoader::Start(sources, options, &memory);
    ASSERT_TRUE(loader.ok()) << loader.status();
    for (int i = 0; i < batches; ++i) {
      ASSERT_NE((*loader)->Next().value(), nullptr);
    }
    (*loader)->Stop();
    EXPECT_EQ((*loader)->Next().value(), nullptr);
  }
}

TEST(MixtureLoaderTest, SaysHowMuchMemoryItTakes) {
  const std::vector<MixtureSource> sources = TestMixture();
  const MixtureOptions options = TestOptions(8);
  MixtureMemory memory;
  ASSERT_TRUE(memory.Reserve(options.spec).ok());
  const auto loader = MixtureLoader::Start(sources, options, &memory);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EXPECT_EQ(memory.bytes(), (4 + 1) * 8 * 2 * 24 * 24 * 3);
  EXPECT_GT((*loader)->memory_bound_bytes(), memory.bytes());
}

}  // namespace
}  // namespace feedrate
