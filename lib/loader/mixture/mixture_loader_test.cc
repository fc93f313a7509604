#include "lib/loader/mixture/mixture_loader.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/testing.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image_file.h"
#include "lib/storage/tfrecord.h"

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

// Unusable data: an error with its location, or a counted skip that leaves the
// rest unchanged.

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A good data set, and one with these bytes as its only shard.
std::vector<MixtureSource> WithShard(const std::string& bytes) {
  std::vector<MixtureSource> sources = {TestMixture()[0]};
  MixtureSource& bad = sources.emplace_back();
  bad.name = "bad";
  bad.shards = {WriteTestFile(NewTestFolder(), "0.tfrecord", bytes)};
  return sources;
}

std::string Records(const std::vector<std::string>& episodes) {
  std::string bytes;
  for (const std::string& episode : episodes) AppendTfRecord(episode, &bytes);
  return bytes;
}

MixtureOptions Options(const char* on_error) {
  MixtureOptions options = TestOptions(160);
  options.spec.on_error = on_error;
  options.spec.shuffle_buffer = 1;
  return options;
}

std::string Error(const std::vector<MixtureSource>& sources,
                  MixtureOptions options = Options("fail")) {
  const absl::StatusOr<TestRun> run = RunMixture(sources, options);
  return run.ok() ? "" : std::string(run.status().message());
}

TestRun Skipping(const std::vector<MixtureSource>& sources,
                 MixtureOptions options = Options("skip")) {
  const absl::StatusOr<TestRun> run = RunMixture(sources, options);
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return {};
  EXPECT_EQ(run->batches.size(), 20);
  return *run;
}

TEST(MixtureFaultTest, AWrongChecksum) {
  std::string bytes = Records({TestEpisode(8, 1), TestEpisode(8, 2)});
  bytes[100] ^= 1;
  const std::vector<MixtureSource> sources = WithShard(bytes);
  EXPECT_THAT(Error(sources),
              AllOf(HasSubstr("data set \"bad\""), HasSubstr("0.tfrecord"),
                    HasSubstr("record 0 at byte 0"), HasSubstr("checksum")));
  const TestRun run = Skipping(sources);
  EXPECT_GT(run.faults, 0);
  EXPECT_THAT(run.fault_reasons, Contains(HasSubstr("wrong checksum")));
  EXPECT_TRUE(run.left_out.empty()) << "its other episode is good";
}

TEST(MixtureFaultTest, ATruncatedShard) {
  std::string bytes = Records({TestEpisode(8, 1), TestEpisode(8, 2)});
  bytes.resize(bytes.size() - 10);
  const std::vector<MixtureSource> sources = WithShard(bytes);
  EXPECT_THAT(Error(sources),
              AllOf(HasSubstr("record 1"), HasSubstr("cut off")));
  const TestRun run = Skipping(sources);
  EXPECT_GT(run.faults, 0);
  EXPECT_THAT(run.fault_reasons, Contains(HasSubstr("cut off")));
}

TEST(MixtureFaultTest, NoTfRecordAtAll) {
  const std::vector<MixtureSource> sources = WithShard("something else here");
  EXPECT_THAT(Error(sources), HasSubstr("not a TFRecord file"));
  EXPECT_THAT(Skipping(sources).left_out, ElementsAre("bad"));
}

TEST(MixtureFaultTest, AMissingFeature) {
  ExampleBuilder builder;
  const std::string jpeg = TestJpeg(24, 32, 1);
  builder.AddBytes("frames", std::vector<absl::string_view>(8, jpeg));
  const std::vector<MixtureSource> sources =
      WithShard(Records({builder.Serialized()}));
  // Only frames are read.
  EXPECT_EQ(Error(sources), "");
  MixtureOptions options = Options("fail");
  options.spec.metadata = "full";
  EXPECT_THAT(Error(sources, options),
              AllOf(HasSubstr("record 0"), HasSubstr("episode_id")));
  options.spec.on_error = "skip";
  const TestRun run = Skipping(sources, options);
  EXPECT_THAT(run.left_out, ElementsAre("bad"));
  EXPECT_THAT(run.fault_reasons, Contains(HasSubstr("episode_id")));
}

TEST(MixtureFaultTest, NoFrames) {
  ExampleBuilder builder;
  builder.AddIntegers("length", {3});
  const std::vector<MixtureSource> sources =
      WithShard(Records({builder.Serialized()}));
  EXPECT_THAT(Error(sources), HasSubstr("no feature \"frames\""));
  EXPECT_THAT(Skipping(sources).left_out, ElementsAre("bad"));
}

TEST(MixtureFaultTest, NumbersThatTheStepsCannotShare) {
  ExampleBuilder builder;
  const std::string jpeg = TestJpeg(24, 32, 1);
  builder.AddBytes("frames", std::vector<absl::string_view>(8, jpeg));
  builder.AddBytes("episode_id", {"x"});
  builder.AddBytes("instruction", {"y"});
  builder.AddFloats("action", {1, 2, 3});
  builder.AddFloats("state", {});
  MixtureOptions options = Options("fail");
  options.spec.metadata = "full";
  EXPECT_THAT(Error(WithShard(Records({builder.Serialized()})), options),
              HasSubstr("3 numbers, which 8 steps cannot share"));
}

TEST(MixtureFaultTest, ADataSetWithoutEpisodes) {
  for (const bool has_shard : {true, false}) {
    std::vector<MixtureSource> sources = WithShard("");
    if (!has_shard) sources[1].shards.clear();
    EXPECT_THAT(Error(sources),
                AllOf(HasSubstr("data set \"bad\""), HasSubstr("no episode")));
    const TestRun run = Skipping(sources);
    EXPECT_THAT(run.left_out, ElementsAre("bad"));
    EXPECT_EQ(run.faults, 1);
  }
}

TEST(MixtureFaultTest, AShardThatIsGone) {
  std::vector<MixtureSource> sources = TestMixture();
  sources[0].shards.push_back("/no/such.tfrecord");
  EXPECT_THAT(Error(sources), HasSubstr("/no/such.tfrecord"));
  const TestRun run = Skipping(sources);
  EXPECT_TRUE(run.left_out.empty());
  EXPECT_GT(run.faults, 0);
}

TEST(MixtureFaultTest, MoreSamplesThanFrames) {
  const std::vector<MixtureSource> sources =
      WithShard(Records({TestEpisode(4, 1), TestEpisode(30, 2)}));
  MixtureOptions options = Options("fail");
  EXPECT_THAT(Error(sources, options), AllOf(HasSubstr("4 frames have 3 pairs"),
                                             HasSubstr("samples_per_episode")));
  options.spec.on_error = "skip";
  const TestRun run = Skipping(sources, options);
  EXPECT_TRUE(run.left_out.empty());
  EXPECT_GT(run.faults, 0);
  // With all pairs, any number of frames is valid.
  options.spec.on_error = "fail";
  options.spec.samples_per_episode = 0;
  EXPECT_EQ(Error(sources, options), "");
  options.spec.pair_offset = 4;
  EXPECT_THAT(Error(sources, options), HasSubstr("4 frames have 0 pairs"));
}

TEST(MixtureFaultTest, AFrameThatIsNoJpeg) {
  std::vector<std::string> jpegs;
  for (int i = 0; i < 8; ++i) jpegs.push_back(TestJpeg(24, 32, i));
  jpegs[3] = "nothing";
  ExampleBuilder builder;
  builder.AddBytes("frames", {jpegs.begin(), jpegs.end()});
  const std::vector<MixtureSource> sources =
      WithShard(Records({builder.Serialized()}));
  EXPECT_THAT(Error(sources), AllOf(HasSubstr("record 0"), HasSubstr("step ")));
  const TestRun run = Skipping(sources);
  EXPECT_GT(run.faults, 0);
  MixtureOptions options = Options("skip");
  options.spec.decode_parallelism = 3;
  EXPECT_TRUE(run.batches == Skipping(sources, options).batches);
}

TEST(MixtureFaultTest, AnEpisodeWithoutOneGoodPair) {
  ExampleBuilder builder;
  builder.AddBytes("frames", std::vector<absl::string_view>(8, "nothing"));
  EXPECT_THAT(
      Error(WithShard(Records({builder.Serialized()})), Options("skip")),
      HasSubstr("none of its other pairs can be decoded"));
}

TEST(MixtureFaultTest, NothingIsLeft) {
  MixtureSource source;
  source.name = "bad";
  EXPECT_THAT(Error({source}, Options("skip")),
              HasSubstr("no data set is left of 1"));
}

TEST(MixtureDecodeLimitTest, IsAboveZeroForAnyThreads) {
  const MixtureSpec spec = TestOptions(0).spec;
  MixtureLimitOptions options;
  options.samples = 20;
  options.rounds = 1;
  for (const int threads : {0, 1, 3}) {
    options.threads = threads;
    const auto limit = MixtureDecodeLimit(TestMixture(), spec, options);
    ASSERT_TRUE(limit.ok()) << limit.status();
    EXPECT_GT(*limit, 0);
  }
}

TEST(MixtureDecodeLimitTest, PassesOverWhatCannotBeUsed) {
  std::vector<MixtureSource> sources = TestMixture();
  sources[0].shards.clear();
  MixtureLimitOptions options;
  options.samples = 8;
  options.rounds = 1;
  const MixtureSpec spec = TestOptions(0).spec;
  EXPECT_TRUE(MixtureDecodeLimit(sources, spec, options).ok());
  for (MixtureSource& source : sources) source.shards.clear();
  EXPECT_EQ(MixtureDecodeLimit(sources, spec, options).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(MixOrderTest, SharesAreThoseOfTheWeights) {
  const MixOrder order({1, 2, 5}, /*block=*/1, /*prime=*/0, /*seed=*/3);
  int64_t samples[3] = {};
  constexpr int64_t kCount = 80000;
  for (int64_t i = 0; i < kCount; ++i) ++samples[order.DatasetAt(i)];
  // Within five standard deviations.
  EXPECT_NEAR(samples[0], kCount / 8, 500);
  EXPECT_NEAR(samples[1], kCount / 4, 650);
  EXPECT_NEAR(samples[2], kCount * 5 / 8, 700);
}

// A day at 1,000 samples per second, without a pixel: every data set keeps its
// weight within an interval that a right mixture leaves once in 10,000 times
// for any of 29 data sets and 25 spans.
TEST(MixOrderTest, SharesHoldForADay) {
  constexpr int kBlock = 4;
  constexpr int64_t kHours = 24;
  constexpr int64_t kBlocksPerHour = 3600 * 1000 / kBlock;
  // Two-sided normal quantile of 1e-4 / (29 * 25).
  constexpr double kWidest = 5.3;
  std::vector<double> weights;
  for (int i = 0; i < 29; ++i) weights.push_back(1 + i % 12 * (i % 12));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const MixOrder order(weights, kBlock, /*prime=*/0, /*seed=*/11);
  std::vector<int64_t> day(weights.size());
  const auto expect_shares = [&](const std::vector<int64_t>& counts,
                                 int64_t blocks, int64_t hour) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const double share = weights[i] / total;
      const auto n = static_cast<double>(blocks);
      const double off = std::abs(counts[i] - n * share);
      EXPECT_LT(off, kWidest * std::sqrt(n * share * (1 - share)))
          << "data set " << i << ", hour " << hour;
    }
  };
  for (int64_t hour = 0; hour < kHours; ++hour) {
    std::vector<int64_t> counts(weights.size());
    for (int64_t i = 0; i < kBlocksPerHour; ++i) {
      ++counts[order.DatasetAt((hour * kBlocksPerHour + i) * kBlock)];
    }
    expect_shares(counts, kBlocksPerHour, hour);
    for (size_t i = 0; i < day.size(); ++i) day[i] += counts[i];
  }
  expect_shares(day, kHours * kBlocksPerHour, -1);
}

TEST(MixOrderTest, ABlockIsOfOneDataSet) {
  const MixOrder order({1, 1, 1, 1}, /*block=*/8, /*prime=*/0, /*seed=*/3);
  bool changes = false;
  for (int64_t i = 0; i < 800; ++i) {
    EXPECT_EQ(order.DatasetAt(i), order.DatasetAt(i / 8 * 8));
    EXPECT_EQ(order.BlockEnd(i), (i / 8 + 1) * 8);
    changes |= order.DatasetAt(i) != order.DatasetAt(0);
  }
  EXPECT_TRUE(changes);
}

TEST(MixOrderTest, PrimingGoesThroughAllDataSets) {
  const MixOrder order({1, 1000, 1}, /*block=*/4, /*prime=*/3, /*seed=*/1);
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(order.DatasetAt(i), i / 3);
    EXPECT_EQ(order.BlockEnd(i), (i / 3 + 1) * 3);
  }
  EXPECT_EQ(order.BlockEnd(9), 13);
}

TEST(MixOrderTest, PositionsNeedNoOrder) {
  const MixOrder order({3, 1}, 2, 0, 9);
  const int late = order.DatasetAt(1000);
  for (int64_t i = 0; i < 100; ++i) order.DatasetAt(i);
  EXPECT_EQ(order.DatasetAt(1000), late);
}

// What resize_with_crop_or_pad makes of a whole decoded image.
std::vector<uint8_t> Expected(const std::vector<uint8_t>& rgb, int height,
                              int width, const FrameShape& shape) {
  std::vector<uint8_t> out(shape.bytes(), 0);
  const int from_y = std::max((height - shape.height) / 2, 0);
  const int from_x = std::max((width - shape.width) / 2, 0);
  const int to_y = std::max((shape.height - height) / 2, 0);
  const int to_x = std::max((shape.width - width) / 2, 0);
  for (int y = 0; y < std::min(height, shape.height); ++y) {
    for (int x = 0; x < 3 * std::min(width, shape.width); ++x) {
      out[(to_y + y) * 3 * shape.width + 3 * to_x + x] =
          rgb[(from_y + y) * 3 * width + 3 * from_x + x];
    }
  }
  return out;
}

TEST(FrameDecoderTest, CropsAndPadsAroundTheCentre) {
  FrameDecoder decoder;
  for (const auto& [height, width] : std::vector<std::tuple<int, int>>{
           {32, 32}, {64, 48}, {16, 16}, {65, 17}, {15, 49}, {33, 32}}) {
    const std::string jpeg = TestJpeg(height, width, 5);
    std::vector<uint8_t> rgb(3 * height * width);
    ASSERT_TRUE(DecodeJpeg(jpeg, height, width, rgb.data()).ok());
    const FrameShape shape = {32, 32};
    // Content of an earlier frame must be overwritten.
    std::vector<uint8_t> out(shape.bytes(), 77);
    ASSERT_TRUE(decoder.Decode(jpeg, shape, out.data()).ok());
    EXPECT_EQ(out, Expected(rgb, height, width, shape))
        << height << " x " << width;
  }
}

TEST(FrameDecoderTest, RefusesWhatIsNoJpeg) {
  FrameDecoder decoder;
  std::vector<uint8_t> out(3 * 32 * 32);
  EXPECT_FALSE(decoder.Decode("", {32, 32}, out.data()).ok());
  EXPECT_FALSE(decoder.Decode("nothing", {32, 32}, out.data()).ok());
  const std::string jpeg = TestJpeg(32, 32, 1);
  EXPECT_FALSE(
      decoder.Decode(jpeg.substr(0, jpeg.size() / 2), {32, 32}, out.data())
          .ok());
}

TEST(FrameDecoderTest, APngHasTheSameCropAndBorder) {
  // Taller and narrower than the frame.
  const Image image = TestImage(30, 20, 5);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = 20;
  png.height = 30;
  png.format = PNG_FORMAT_RGB;
  std::string file(1 << 16, 0);
  png_alloc_size_t size = file.size();
  ASSERT_TRUE(png_image_write_to_memory(&png, file.data(), &size, 0,
                                        image.view().row(0), 0, nullptr));
  file.resize(size);
  std::vector<uint8_t> out(3 * 24 * 24, 9);
  FrameDecoder decoder;
  ASSERT_TRUE(decoder.Decode(file, {24, 24}, out.data()).ok());
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 24; ++x) {
      const bool is_inside = x >= 2 && x < 22;
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(out[3 * (24 * y + x) + c],
                  is_inside ? image.view().row(y + 3)[3 * (x - 2) + c] : 0)
            << x << " " << y;
      }
    }
  }
  file[file.size() / 2] ^= 1;
  EXPECT_FALSE(decoder.Decode(file, {24, 24}, out.data()).ok());
}

}  // namespace
}  // namespace feedrate
