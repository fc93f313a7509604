#include "lib/loader/mixture/episode.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/checksum.h"

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
    // Not at the start of the file, so that offsets matter.
    AppendTfRecord("something else", &bytes);
    place_.offset = bytes.size();
    place_.record = 1;
    AppendTfRecord(builder.Serialized(), &bytes);
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
  EXPECT_EQ((*episode)->instruction(0), "open the drawer");
  EXPECT_EQ((*episode)->action_width(), 2);
  EXPECT_EQ((*episode)->action(3)[1], 7);
  EXPECT_EQ((*episode)->state(4)[0], 1);
  EXPECT_THAT((*episode)->pairs(), ElementsAre(0, 1, 2, 3));
}

TEST_F(EpisodeTest, IntegersAreNumbersAndNames) {
  const auto open = [](int64_t largest) {
    ExampleBuilder builder;
    builder.AddBytes("frames", {"f0", "f1"});
    builder.AddIntegers("action", {3, -4, 5, largest});
    builder.AddFloats("state", {1, 2});
    builder.AddBytes("instruction", {"go"});
    builder.AddIntegers("episode_id", {71});
    std::string bytes;
    AppendTfRecord(builder.Serialized(), &bytes);
    const auto shard =
        MappedShard::Open(WriteTestFile(NewTestFolder(), "shard", bytes))
            .value();
    EpisodePlace place;
    place.shard = shard.get();
    place.bytes = bytes.size();
    EpisodeOptions options;
    options.metadata = MetadataMode::kFull;
    const auto episode = Episode::Open(place, options, 0);
    if (!episode.ok()) return std::string(episode.status().message());
    return absl::StrCat((*episode)->id(), " ", (*episode)->action(0)[1], " ",
                        static_cast<int64_t>((*episode)->action(1)[1]));
  };
  EXPECT_EQ(open(16777216), "71 -4 16777216");
  EXPECT_THAT(open(16777217), HasSubstr("which a float cannot hold"));
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

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Shards with this many records each; record j of shard i contains "i.j".
std::vector<std::string> Shards(const std::vector<int>& sizes) {
  const std::string folder = NewTestFolder();
  std::vector<std::string> paths;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::string bytes;
    for (int j = 0; j < sizes[i]; ++j) {
      AppendTfRecord(absl::StrCat(i, ".", j), &bytes);
    }
    paths.push_back(WriteTestFile(folder, absl::StrCat(i), bytes));
  }
  return paths;
}

std::vector<std::string> Take(EpisodeOrder* order, int count) {
  std::vector<std::string> taken;
  for (int i = 0; i < count; ++i) {
    const auto place = order->Next();
    if (!place.ok()) {
      taken.emplace_back(place.status().message());
      continue;
    }
    // After the header, before the checksum.
    taken.emplace_back(
        place->shard->bytes().substr(place->offset + 12, place->bytes - 16));
  }
  return taken;
}

TEST(EpisodeOrderTest, ShardsInTurns) {
  EpisodeOrder order(Shards({3, 1, 2}), {2, 1, 0});
  EXPECT_THAT(Take(&order, 6),
              ElementsAre("0.0", "1.0", "0.1", "2.0", "0.2", "2.1"));
  EXPECT_THAT(Take(&order, 2), ElementsAre("0.0", "1.0"));
  EpisodeOrder one(Shards({2, 1}), {1, 1, 0});
  EXPECT_THAT(Take(&one, 4), ElementsAre("0.0", "0.1", "1.0", "0.0"));
}

TEST(EpisodeOrderTest, EachPassHasAllInAnotherOrder) {
  const std::vector<std::string> shards = Shards({4, 3, 5});
  EpisodeOrder order(shards, {2, 6, 11});
  std::vector<std::string> first = Take(&order, 12);
  std::vector<std::string> second = Take(&order, 12);
  EXPECT_NE(first, second);
  EpisodeOrder again(shards, {2, 6, 11});
  EXPECT_THAT(Take(&again, 12), ElementsAreArray(first));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

TEST(EpisodeOrderTest, PlacesSayWhereTheyAre) {
  EpisodeOrder order(Shards({2}), {1, 1, 0});
  EXPECT_EQ(order.Next()->record, 0);
  const auto second = order.Next();
  EXPECT_EQ(second->record, 1);
  EXPECT_EQ(second->offset, 12 + 3 + 4);
  EXPECT_EQ(second->pass, 0);
  EXPECT_EQ(order.Next()->pass, 1);
}

TEST(EpisodeOrderTest, ADamagedShardIsNamedAndPassedOver) {
  std::vector<std::string> shards = Shards({1, 2});
  shards.insert(shards.begin() + 1,
                WriteTestFile(NewTestFolder(), "broken", "no record"));
  EpisodeOrder order(shards, {1, 1, 0});
  const std::vector<std::string> taken = Take(&order, 5);
  EXPECT_EQ(taken[0], "0.0");
  EXPECT_THAT(taken[1], HasSubstr("broken"));
  EXPECT_EQ(taken[2], "1.0");
  EXPECT_EQ(taken[4], "0.0");
}

TEST(EpisodeOrderTest, NothingAtAllIsAnEnd) {
  EpisodeOrder empty(Shards({0, 0}), {1, 4, 0});
  EXPECT_EQ(empty.Next().status().code(),
            absl::StatusCode::kFailedPrecondition);
  EpisodeOrder none({}, {1, 4, 0});
  EXPECT_EQ(none.Next().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(KeptFramesTest, GivesBackWhatWasKeptOnce) {
  KeptFrames kept;
  const std::vector<uint8_t> frame = {1, 2, 3};
  kept.Keep(7, frame.data(), frame.size());
  std::vector<uint8_t> out(3);
  EXPECT_FALSE(kept.Take(6, out.size(), out.data()));
  EXPECT_TRUE(kept.Take(7, out.size(), out.data()));
  EXPECT_EQ(out, frame);
  EXPECT_FALSE(kept.Take(7, out.size(), out.data()));
}

TEST(KeptFramesTest, KeepsNoMoreThanItSays) {
  KeptFrames kept;
  for (uint8_t step = 0; step < 10; ++step) kept.Keep(step, &step, 1);
  uint8_t out = 0;
  size_t there = 0;
  for (int step = 0; step < 10; ++step) {
    if (kept.Take(step, 1, &out)) {
      EXPECT_EQ(out, step);
      ++there;
    }
  }
  EXPECT_EQ(there, KeptFrames::kMost);
}

// What tensorflow-datasets writes: nested names, an instruction per step, and
// actions in several features.
std::string TfdsShard() {
  ExampleBuilder builder;
  builder.AddBytes("steps/observation/image", {"f0", "f1", "f2"});
  builder.AddFloats("steps/action/move", {1, 2, 3, 4, 5, 6});
  builder.AddFloats("steps/action/grip", {7, 8, 9});
  builder.AddBytes("steps/language_instruction", {"a", "b", "c"});
  std::string bytes;
  AppendTfRecord(builder.Serialized(), &bytes);
  return bytes;
}

MixtureSource TfdsNames() {
  MixtureSource names;
  names.image = "steps/observation/image";
  names.action = {"steps/action/move", "steps/action/grip"};
  names.state = {};
  names.instruction = "steps/language_instruction";
  names.episode_id = "";
  return names;
}

absl::StatusOr<std::unique_ptr<Episode>> OpenOnly(const std::string& path,
                                                  const MixtureSource& names) {
  // Outlives the test, as shards must outlive their episodes.
  static auto& kept = *new std::vector<std::unique_ptr<EpisodeOrder>>();
  kept.push_back(std::make_unique<EpisodeOrder>(std::vector<std::string>{path},
                                                EpisodeOrderOptions()));
  const absl::StatusOr<EpisodePlace> place = kept.back()->Next();
  if (!place.ok()) return place.status();
  EpisodeOptions options;
  options.metadata = MetadataMode::kFull;
  options.source = &names;
  return Episode::Open(*place, options, 0);
}

TEST(EpisodeNamesTest, FeaturesMayHaveOtherNames) {
  const std::string path = WriteTestFile(NewTestFolder(), "shard", TfdsShard());
  const auto episode = OpenOnly(path, TfdsNames());
  ASSERT_TRUE(episode.ok()) << episode.status();
  EXPECT_THAT((*episode)->frames(), ElementsAre("f0", "f1", "f2"));
  EXPECT_EQ((*episode)->instruction(1), "b");
  EXPECT_EQ((*episode)->id(), "");
  ASSERT_EQ((*episode)->action_width(), 3);
  EXPECT_THAT(absl::MakeSpan((*episode)->action(1), 3), ElementsAre(3, 4, 8));
  EXPECT_EQ((*episode)->state_width(), 0);
}

TEST(EpisodeNamesTest, SaysWhatIsMissing) {
  const std::string path = WriteTestFile(NewTestFolder(), "shard", TfdsShard());
  MixtureSource names = TfdsNames();
  names.action = {"steps/action"};
  EXPECT_THAT(std::string(OpenOnly(path, names).status().message()),
              HasSubstr("record 0: no feature \"steps/action\"; it has "
                        "steps/observation/image"));
  names.image = "";
  EXPECT_THAT(std::string(OpenOnly(path, names).status().message()),
              HasSubstr("features.json has no image below steps"));
}

std::string Gzip(const std::string& path, absl::string_view bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

TEST(GzipShardTest, IsUnpacked) {
  const std::string path = Gzip(NewTestFolder() + "/shard", TfdsShard());
  const auto episode = OpenOnly(path, TfdsNames());
  ASSERT_TRUE(episode.ok()) << episode.status();
  EXPECT_THAT((*episode)->frames(), ElementsAre("f0", "f1", "f2"));
  EXPECT_THAT((*episode)->name(), HasSubstr(path));
}

TEST(GzipShardTest, DamageIsAnErrorWithItsPlace) {
  const std::string path = Gzip(NewTestFolder() + "/shard", TfdsShard());
  // In the middle of the data, and in the checksum at the end.
  ASSERT_EQ(truncate(path.c_str(), 60), 0);
  const auto cut = OpenOnly(path, TfdsNames());
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr(path));
  EXPECT_TRUE(absl::IsDataLoss(cut.status())) << cut.status();
}

TEST(GzipShardTest, IsNotTakenForARecordOfThatLength) {
  std::string head;
  AppendTfRecord("", &head);
  EXPECT_FALSE(IsGzipShard(head));
  const std::string magic("\x1f\x8b\x08\0\0\0\0\0", 8);
  EXPECT_TRUE(IsGzipShard(magic + std::string(4, 0)));
  std::string record = magic;
  AppendLittleEndian32(MaskedCrc32c(magic), &record);
  EXPECT_FALSE(IsGzipShard(record));
  EXPECT_FALSE(IsGzipShard("\x1f\x8b"));
}

}  // namespace
}  // namespace feedrate
