#include "lib/loader/mixture/episode_order.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Shards with so many records each; record j of shard i holds "i.j".
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
    // Behind the head, before the checksum.
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

}  // namespace
}  // namespace feedrate
