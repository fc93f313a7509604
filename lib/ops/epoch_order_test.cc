#include "lib/ops/epoch_order.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<int64_t> Items(const ItemOrder& order) {
  std::vector<int64_t> items;
  for (int64_t i = 0; i < order.count(); ++i) items.push_back(order.Item(i));
  return items;
}

TEST(ItemOrderTest, GoesRound) {
  EXPECT_THAT(Items(ItemOrder(2, 4, 3, false, 0, 0)), ElementsAre(2, 0, 1, 2));
  EXPECT_THAT(Items(ItemOrder(0, 0, 0, true, 0, 0)), ElementsAre());
}

TEST(ItemOrderTest, ShufflesBySeedAndEpoch) {
  const auto items = [](uint64_t seed, int64_t epoch) {
    return Items(ItemOrder(0, 50, 50, true, seed, epoch));
  };
  EXPECT_EQ(items(1, 0), items(1, 0));
  EXPECT_NE(items(1, 0), items(1, 1));
  EXPECT_NE(items(1, 0), items(2, 0));
  const std::vector<int64_t> all = items(1, 0);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 50u);
  EXPECT_THAT(Items(ItemOrder(4, 3, 5, true, 9, 9)),
              UnorderedElementsAre(4, 0, 1));
}

// Items of all processes, batch by batch as they are delivered.
std::vector<int64_t> Shared(EpochShare share, int64_t batch_size) {
  std::vector<int64_t> all;
  for (share.rank = 0; share.rank < share.world; ++share.rank) {
    const int64_t count = share.Count(50, batch_size);
    for (int64_t item : Items(ItemOrder(share, count, 50, true, 3, 7))) {
      all.push_back(item);
    }
  }
  return all;
}

TEST(ItemOrderTest, SharesHaveEachItemOnce) {
  for (const int64_t world : {1, 3, 4, 60}) {
    EpochShare share;
    share.world = world;
    const std::vector<int64_t> all = Shared(share, 4);
    EXPECT_EQ(all.size(), 50u);
    EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 50u) << world;
  }
}

TEST(ItemOrderTest, AnotherNumberOfProcessesContinuesAShare) {
  // Two batches of 4 in each of 3 processes are done: 24 items.
  std::vector<int64_t> all;
  EpochShare before;
  before.world = 3;
  for (before.rank = 0; before.rank < 3; ++before.rank) {
    for (int64_t item : Items(ItemOrder(before, 8, 50, true, 3, 7))) {
      all.push_back(item);
    }
  }
  EpochShare after;
  after.start = 24;
  after.world = 5;
  for (int64_t item : Shared(after, 4)) all.push_back(item);
  EXPECT_EQ(all.size(), 50u);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 50u);
}

TEST(ItemOrderTest, TheTailIsKeptPaddedOrDropped) {
  EpochShare share;
  share.start = 20;  // 30 items are left.
  share.world = 4;
  const auto counts = [&share](EpochShare::Tail tail) {
    std::vector<int64_t> found;
    share.tail = tail;
    for (share.rank = 0; share.rank < 4; ++share.rank) {
      found.push_back(share.Count(50, 3));
    }
    return found;
  };
  EXPECT_THAT(counts(EpochShare::Tail::kKeep), ElementsAre(8, 8, 7, 7));
  EXPECT_THAT(counts(EpochShare::Tail::kPad), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(counts(EpochShare::Tail::kDrop), ElementsAre(6, 6, 6, 6));
  share.start = 60;
  EXPECT_THAT(counts(EpochShare::Tail::kPad), ElementsAre(0, 0, 0, 0));
  // What is padded with are the first items of the same epoch.
  const ItemOrder whole(0, 50, 50, true, 3, 7);
  share.start = 48;
  share.rank = 3;
  EXPECT_EQ(ItemOrder(share, 1, 50, true, 3, 7).Item(0), whole.Item(1));
}

TEST(ItemOrderTest, SeedsOfItemsDiffer) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      for (int64_t item = 0; item < 100; ++item) {
        seeds.insert(ItemSeed(seed, epoch, item));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 1600u);
}

}  // namespace
}  // namespace feedrate
