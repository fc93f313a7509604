#include "lib/stats/sign_flip.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

// By trying all patterns.
double Brute(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  int count = 0;
  const int patterns = 1 << values.size();
  for (int pattern = 0; pattern < patterns; ++pattern) {
    double flipped = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double size = std::abs(values[i]);
      flipped += (pattern >> i) & 1 ? size : -size;
    }
    if (flipped >= sum - 1e-9) ++count;
  }
  return static_cast<double>(count) / patterns;
}

TEST(SignFlipTest, CountsAsBruteForceDoes) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int n = 1; n <= 14; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(normal(random) + 0.5);
      EXPECT_DOUBLE_EQ(SignFlipPValue(values), Brute(values)) << n;
    }
  }
}

TEST(SignFlipTest, TiesCount) {
  EXPECT_DOUBLE_EQ(SignFlipPValue({1, 1, 1, -1}), Brute({1, 1, 1, -1}));
  EXPECT_DOUBLE_EQ(SignFlipPValue({0.1, 0.2, -0.3}), Brute({.1, .2, -.3}));
  EXPECT_DOUBLE_EQ(SignFlipPValue({0, 0, 0}), 1);
}

TEST(SignFlipTest, AllOfOneSignIsTheSmallest) {
  const std::vector<double> values(30, 0.01);
  EXPECT_DOUBLE_EQ(SignFlipPValue(values), std::ldexp(1, -30));
  EXPECT_DOUBLE_EQ(SmallestSignFlipPValue(30), std::ldexp(1, -30));
  EXPECT_DOUBLE_EQ(SignFlipPValue(std::vector<double>(30, -0.01)), 1);
}

TEST(SignFlipTest, StopsEarlyOnlyAboveTheLimit) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> values;
    for (int i = 0; i < 16; ++i) values.push_back(normal(random) + 0.6);
    const double exact = SignFlipPValue(values);
    const double quick = SignFlipPValue(values, 1e-3);
    EXPECT_EQ(quick > 1e-3, exact > 1e-3);
    if (quick <= 1e-3) {
      EXPECT_DOUBLE_EQ(quick, exact);
    }
  }
}

TEST(SignFlipTest, TheBoundForManyPairsIsAboveTheExactValue) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<double> values;
    for (int i = 0; i < kMaxExactFlips; ++i) {
      values.push_back(normal(random) + 0.6);
    }
    const double exact = SignFlipPValue(values);
    // A pair without a difference changes nothing but the method.
    values.push_back(0);
    EXPECT_GE(SignFlipPValue(values), exact);
    EXPECT_LE(SignFlipPValue(values), 200 * exact);
  }
  EXPECT_LT(SmallestSignFlipPValue(100), 1e-20);
}

// A false alarm is as rare as the test says, on the nastiest noise there is.
TEST(SignFlipTest, KeepsItsLevelOnCauchyNoise) {
  std::mt19937 random(4);
  std::cauchy_distribution<double> cauchy;
  int alarms = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) values.push_back(cauchy(random));
    alarms += SignFlipPValue(LimitedScores(values)) <= 0.05;
  }
  EXPECT_LE(alarms, kTrials * 0.05 + 4 * std::sqrt(kTrials * 0.05));
  EXPECT_GE(alarms, kTrials * 0.03);
}

TEST(LimitedScoresTest, CutsOnlyWhatIsFarOut) {
  const std::vector<double> scores = LimitedScores({1, -1, 1.2, 0.9, -50, 1});
  EXPECT_DOUBLE_EQ(scores[2], 1.2);
  EXPECT_DOUBLE_EQ(scores[4], -1.25);
  EXPECT_TRUE(LimitedScores({}).empty());
}

}  // namespace
}  // namespace feedrate
