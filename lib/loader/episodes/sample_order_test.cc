#include "lib/loader/episodes/sample_order.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAreArray;
using ::testing::Not;

std::vector<int64_t> Shuffled(uint64_t seed, int64_t size) {
  std::vector<int64_t> places(size);
  for (int64_t i = 0; i < size; ++i) places[i] = ShuffledPlace(seed, size, i);
  return places;
}

TEST(ShuffledPlaceTest, GivesEachPlaceOnce) {
  for (const int64_t size : {1, 2, 3, 7, 64, 1000, 4097}) {
    std::vector<int64_t> every(size);
    std::iota(every.begin(), every.end(), 0);
    std::vector<int64_t> places = Shuffled(size, size);
    if (size > 7) {
      EXPECT_THAT(places, Not(ElementsAreArray(every)));
      EXPECT_THAT(places, Not(ElementsAreArray(Shuffled(size + 1, size))));
    }
    std::sort(places.begin(), places.end());
    EXPECT_THAT(places, ElementsAreArray(every));
  }
}

TEST(ShuffledPlaceTest, EveryOrderIsAsLikely) {
  std::map<std::vector<int64_t>, int> counts;
  constexpr int kRounds = 24000;
  for (int seed = 0; seed < kRounds; ++seed) ++counts[Shuffled(seed, 4)];
  ASSERT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 160);
}

TEST(ShuffledPlaceTest, NeighborsDoNotStayNeighbors) {
  const std::vector<int64_t> places = Shuffled(5, 10000);
  int near = 0;
  double distance = 0;
  for (size_t i = 1; i < places.size(); ++i) {
    const double apart = std::abs(static_cast<double>(places[i]) -
                                  static_cast<double>(places[i - 1]));
    near += apart <= 5 ? 1 : 0;
    distance += apart / places.size();
  }
  // 10 of 10000 others are that near; the mean distance is a third.
  EXPECT_NEAR(near, 10, 12);
  EXPECT_NEAR(distance, 3333, 100);
}

TEST(WeightedOrderTest, EveryBlockHasTheSharesAndNumbersEachDraw) {
  const std::vector<double> weights = {2, 1, 0.5, 1e-4};
  const WeightedOrder order(weights, 3);
  std::vector<int64_t> drawn(weights.size(), 0);
  constexpr int64_t kBlocks = 200;
  for (int64_t i = 0; i < kBlocks * WeightedOrder::kMixBlock; ++i) {
    const Draw draw = order.At(i);
    ASSERT_EQ(draw.number, drawn[draw.dataset]++);
    if ((i + 1) % WeightedOrder::kMixBlock != 0) continue;
    const double blocks = static_cast<double>(i + 1) / 3.5001;
    for (size_t d = 0; d < weights.size(); ++d) {
      EXPECT_NEAR(drawn[d], blocks * weights[d],
                  1 + static_cast<double>(i) / WeightedOrder::kMixBlock);
    }
  }
  EXPECT_NEAR(drawn[3], kBlocks * 4096 * 1e-4 / 3.5001, 15);
}

TEST(WeightedOrderTest, IsTheSameFromAnywhere) {
  const std::vector<double> weights = {3, 1, 1};
  const WeightedOrder order(weights, 9);
  const WeightedOrder other(weights, 9);
  std::map<int64_t, Draw> found;
  // Far ahead, back, and on: what a block had before does not matter.
  for (const int64_t position : {100000000, 5, 70000, 69999, 100000001}) {
    found[position] = order.At(position);
  }
  for (const auto& [position, draw] : found) {
    const Draw again = other.At(position);
    EXPECT_EQ(again.dataset, draw.dataset);
    EXPECT_EQ(again.number, draw.number);
  }
}

}  // namespace
}  // namespace feedrate
