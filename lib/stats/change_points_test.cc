#include "lib/stats/change_points.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

std::vector<double> Noise(int n, double sd, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, sd);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(normal(random));
  return values;
}

TEST(ChangePointsTest, FindsAStepWhereItIs) {
  std::vector<double> values = Noise(60, 0.005, 1);
  for (int i = 25; i < 60; ++i) values[i] += std::log(1.05);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].index, 25);
  EXPECT_NEAR(steps[0].shift, std::log(1.05), 0.005);
  EXPECT_LT(steps[0].p_value, 1e-6);
  EXPECT_EQ(steps[0].gone_at, 0);
}

TEST(ChangePointsTest, SaysWhenItWentAway) {
  std::vector<double> values = Noise(80, 0.005, 2);
  for (int i = 30; i < 45; ++i) values[i] += std::log(1.08);
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].index, 30);
  EXPECT_EQ(steps[0].gone_at, 45);
  EXPECT_LT(steps[1].shift, 0);
  EXPECT_EQ(steps[1].gone_at, 0);
}

TEST(ChangePointsTest, PassesOverSpikesAndTooShortHistories) {
  for (int seed = 0; seed < 100; ++seed) {
    std::vector<double> values = Noise(50, 0.01, seed);
    values[10] += 0.5;
    values[11 + seed % 20] -= 0.4;
    values[49] += 0.5;
    EXPECT_TRUE(FindSteps(values).empty()) << seed;
  }
  EXPECT_TRUE(FindSteps({}).empty());
  EXPECT_TRUE(FindSteps({1}).empty());
  EXPECT_TRUE(FindSteps({0, 0, 0, 1, 1}).empty());
}

TEST(ChangePointsTest, ExactStepsWithoutAnyNoise) {
  std::vector<double> values(20, 0.0);
  for (int i = 10; i < 20; ++i) values[i] = 0.05;
  const std::vector<Step> steps = FindSteps(values);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ(steps[0].index, 10);
  EXPECT_TRUE(FindSteps(std::vector<double>(20, 1.5)).empty());
}

TEST(ChangePointsTest, IgnoresWhatIsNotOfInterest) {
  std::vector<double> values = Noise(100, 0.001, 3);
  for (int i = 50; i < 100; ++i) values[i] += 0.01;
  EXPECT_TRUE(FindSteps(values).empty());
  ChangePointOptions options;
  options.min_shift = 0.005;
  EXPECT_EQ(FindSteps(values, options).size(), 1);
}

}  // namespace
}  // namespace feedrate
