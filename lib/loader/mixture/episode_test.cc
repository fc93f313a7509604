#include "lib/loader/mixture/episode.h"

#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/mixture/mapped_shard.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EpisodeTest : public ::testing::Test {
 protected:
  EpisodeTest() {
    ExampleBuilder builder;
    builder.AddBytes("frames", {"f0", "f1", "f2", "f3", "f4"});
    builder.AddFloats("action", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    builder.AddFloats("state", {5, 4, 3, 2, 1});
    builder.AddBytes("instruction", {"open the drawer"});
    builder.AddBytes("episode_id", {"e7"});
    std::string bytes;
    // Not at the beginning, so that offsets count.
    AppendTfRecord("something else", &bytes);
    place_.offset = bytes.size();
    place_.record = 1;
    AppendTfRecord(builder.Serialised(), &bytes);
    place_.bytes = bytes.size() - place_.offset;
    shard_ = MappedShard::Open(WriteTestFile(NewTestFolder(), "shard", bytes))
                 .value();
    place_.shard = shard_.get();
  }

  std::unique_ptr<MappedShard> shard_;
  EpisodePlace place_;
};

TEST_F(EpisodeTest, HasItsFramesAndMetadata) {
  EpisodeOptions options;
  options.metadata = MetadataMode::kFull;
  const auto episode = Episode::Open(place_, options, 0);
  ASSERT_TRUE(episode.ok()) << episode.status();
  EXPECT_THAT((*episode)->frames(), ElementsAre("f0", "f1", "f2", "f3", "f4"));
  EXPECT_EQ((*episode)->id(), "e7");
  EXPECT_EQ((*episode)->instruction(), "open the drawer");
  EXPECT_EQ((*episode)->action_width(), 2);
  EXPECT_EQ((*episode)->action(3)[1], 7);
  EXPECT_EQ((*episode)->state(4)[0], 1);
  EXPECT_THAT((*episode)->pairs(), ElementsAre(0, 1, 2, 3));
}

TEST_F(EpisodeTest, AShardThatWasCutOffMeanwhileIsDataLoss) {
  ASSERT_EQ(truncate(shard_->path().c_str(), place_.offset + 20), 0);
  const absl::Status status = Episode::Open(place_, {}, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has become shorter"));
}

TEST_F(EpisodeTest, ReadsOnlyFramesWhereNothingElseIsWanted) {
  const auto episode = Episode::Open(place_, {}, 0);
  ASSERT_TRUE(episode.ok()) << episode.status();
  EXPECT_EQ((*episode)->id(), "");
  EXPECT_EQ((*episode)->action_width(), 0);
}

TEST_F(EpisodeTest, DrawsPairsBySeedWithoutRepeating) {
  EpisodeOptions options;
  options.samples = 3;
  options.pair_offset = 2;
  std::set<std::vector<int>> draws;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<int> pairs =
        (*Episode::Open(place_, options, seed))->pairs();
    EXPECT_EQ(std::set<int>(pairs.begin(), pairs.end()),
              (std::set<int>{0, 1, 2}));
    EXPECT_EQ(pairs, (*Episode::Open(place_, options, seed))->pairs());
    draws.insert(pairs);
  }
  EXPECT_EQ(draws.size(), 6) << "all orders come";
}

TEST_F(EpisodeTest, TooFewFramesAreNamedWithTheRemedy) {
  EpisodeOptions options;
  options.samples = 4;
  options.pair_offset = 2;
  const absl::Status status = Episode::Open(place_, options, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("record 1"), HasSubstr("5 frames have 3 pairs"),
                    HasSubstr("lower samples_per_episode")));
}

TEST_F(EpisodeTest, WhatIsLetGoCanBeReadAgain) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Episode::Open(place_, {}, 0).ok());
  }
}

}  // namespace
}  // namespace feedrate
