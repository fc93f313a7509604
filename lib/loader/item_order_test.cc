#include "lib/loader/item_order.h"

#include <set>
#include <vector>

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
