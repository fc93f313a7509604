#include "lib/loader/mixture/mix_order.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
