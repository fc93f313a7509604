// Unusable data: an error with its location, or a counted skip that leaves the
// rest unchanged.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/loader/mixture/testing.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
