#include "lib/stats/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

double Sum(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.Add(value);
  return sum.Total();
}

TEST(ExactSumTest, LosesNothing) {
  EXPECT_EQ(Sum({1e100, 1, -1e100}), 1);
  EXPECT_EQ(Sum({0.5, 0.25, -0.75}), 0);
  EXPECT_EQ(Sum({}), 0);
  EXPECT_EQ(Sum({-0.0}), 0);
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(Sum({tiny, tiny, tiny}), 3 * tiny);
  EXPECT_EQ(Sum(std::vector<double>(1000, 0.1)), 100);
}

TEST(ExactSumTest, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> draw(3, 5);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(draw(random) * (i % 3 == 0 ? -1 : 1));
  }
  const double expected = Sum(values);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(values.begin(), values.end(), random);
    ASSERT_EQ(Sum(values), expected);
  }
}

TEST(ExactSumTest, ClearStartsAgain) {
  ExactSum sum;
  sum.Add(1e300);
  sum.Add(1e-300);
  sum.Clear();
  sum.Add(2);
  EXPECT_EQ(sum.Total(), 2);
}

}  // namespace
}  // namespace feedrate
