#include "lib/adapters/worker/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(RandomTest, TheSeedDecides) {
  Random a(7), b(7), c(8);
  const uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  EXPECT_NE(first, a.Next());
}

TEST(RandomTest, StaysInItsRangeAndFillsIt) {
  Random random(5);
  double low = 10, high = -10, sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Uniform({-2, 3});
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  EXPECT_GE(low, -2);
  EXPECT_LT(high, 3);
  EXPECT_LT(low, -1.99);
  EXPECT_GT(high, 2.99);
  EXPECT_NEAR(sum / 100000, 0.5, 0.05);
}

TEST(RandomTest, WholeNumbersAreEachAsLikely) {
  Random random(2);
  std::array<int, 4> counts = {};
  for (int i = 0; i < 40000; ++i) ++counts[random.Integer({0, 3})];
  for (int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(RandomTest, NormalDrawsHaveTheirMoments) {
  Random random(3);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(RandomTest, ShufflesWithoutLoss) {
  Random random(4);
  std::vector<int> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  random.Shuffle(&values);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  EXPECT_THAT(values,
              ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

}  // namespace
}  // namespace feedrate
