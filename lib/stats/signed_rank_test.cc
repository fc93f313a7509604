#include "lib/stats/signed_rank.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(SignedRankTest, EstimateIsTheMedianOfMeans) {
  EXPECT_DOUBLE_EQ(LocationOf({3}, 0.99).estimate, 3);
  // Means: 1, 1.5, 2, 5.5, 6, 10.
  EXPECT_DOUBLE_EQ(LocationOf({1, 2, 10}, 0.99).estimate, 3.75);
  EXPECT_FALSE(LocationOf({3}, 0.99).interval.has_value());
}

// Critical values of the published tables of the signed-rank test, two-sided
// 1%: T <= 3 at n = 10, 37 at 20, 109 at 30.
TEST(SignedRankTest, AgreesWithPublishedTables) {
  EXPECT_EQ(MeansOutside(7, 0.99), -1);
  EXPECT_EQ(MeansOutside(8, 0.99), 0);
  EXPECT_EQ(MeansOutside(10, 0.99), 3);
  EXPECT_EQ(MeansOutside(20, 0.99), 37);
  EXPECT_EQ(MeansOutside(30, 0.99), 109);
  EXPECT_EQ(MeansOutside(20, 0.95), 52);
}

TEST(SignedRankTest, ManyValuesUseTheNormalLimit) {
  EXPECT_NEAR(MeansOutside(101, 0.99), MeansOutside(100, 0.99), 60);
}

TEST(SignedRankTest, CoversAsPromised) {
  std::mt19937 random(5);
  std::student_t_distribution<double> noise(3);
  for (const int n : {4, 10, 25}) {
    int held = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(7 + noise(random));
      const Location location = LocationOf(values, 0.95);
      ASSERT_TRUE(location.interval.has_value());
      EXPECT_LE(location.interval->low, location.estimate);
      EXPECT_GE(location.interval->high, location.estimate);
      held += location.interval->low <= 7 && 7 <= location.interval->high;
    }
    EXPECT_GE(held, 0.95 * kTrials - 4 * std::sqrt(0.05 * kTrials)) << n;
  }
}

}  // namespace
}  // namespace feedrate
