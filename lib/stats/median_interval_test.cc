#include "lib/stats/median_interval.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

absl::optional<Interval> Of(std::vector<double> values) {
  return MedianInterval(absl::MakeSpan(values));
}

TEST(MedianIntervalTest, NoneForOneOrTwoRuns) {
  EXPECT_FALSE(Of({100}).has_value());
  EXPECT_FALSE(Of({100, 101}).has_value());
  EXPECT_FALSE(Of({100, 101, 0}).has_value());
}

// scipy.stats.t.interval of the logarithms.
TEST(MedianIntervalTest, ThreeRunsAgreeWithSciPy) {
  const auto interval = Of({812.5, 790.25, 845.0});
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 750.1901415984477, 1e-6);
  EXPECT_NEAR(interval->high, 886.7306143084741, 1e-6);
}

// The formula of Hettmansperger and Sheather over scipy.stats.binom.
TEST(MedianIntervalTest, RanksAgreeWithSciPy) {
  const struct {
    int64_t n, rank;
    double weight;
  } expected[] = {{6, 1, 0.35714285714285776},   {7, 1, 0.7333333333333336},
                  {10, 2, 0.6576576576576582},   {11, 2, 0.9177939646201877},
                  {20, 6, 0.23523421588594806},  {100, 40, 0.7632006163400947},
                  {1001, 470, 0.002222309646987}};
  for (const auto& one : expected) {
    const MedianRanks ranks = RanksAroundMedian(one.n);
    EXPECT_EQ(ranks.rank, one.rank) << one.n;
    EXPECT_NEAR(ranks.weight, one.weight, 1e-9) << one.n;
  }
  const auto interval =
      Of({812.5, 790.25, 845.0, 801.75, 799.5, 1020.0, 778.125});
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 787.0166666666667, 1e-9);
  EXPECT_NEAR(interval->high, 891.6666666666665, 1e-9);
}

TEST(MedianIntervalTest, HugeNumbersOfRunsWork) {
  const MedianRanks ranks = RanksAroundMedian(10000000);
  // Normal approximation: n / 2 - 0.98 * sqrt(n).
  EXPECT_NEAR(static_cast<double>(ranks.rank), 5e6 - 0.979982 * std::sqrt(1e7),
              2);
}

TEST(MedianIntervalTest, EqualRunsGiveAPoint) {
  for (const int n : {3, 4, 5, 6, 10}) {
    const auto interval = Of(std::vector<double>(n, 123.4));
    ASSERT_TRUE(interval.has_value());
    EXPECT_NEAR(interval->low, 123.4, 1e-9);
    EXPECT_NEAR(interval->high, 123.4, 1e-9);
    EXPECT_LE(interval->low, 123.4);
    EXPECT_GE(interval->high, 123.4);
  }
}

using Draw = std::function<double(std::mt19937_64&)>;

struct Coverage {
  double covered;
  bool median_inside;
};

// Share of simulated data sets whose interval holds `truth`.
Coverage Simulate(int n, double truth, const Draw& draw, uint64_t seed) {
  constexpr int kSets = 20000;
  std::mt19937_64 random(seed);
  int covered = 0;
  bool inside = true;
  std::vector<double> values(static_cast<size_t>(n));
  for (int i = 0; i < kSets; ++i) {
    for (double& value : values) value = draw(random);
    const double median = Median(values);
    const Interval interval = *MedianInterval(absl::MakeSpan(values));
    covered += interval.low <= truth && truth <= interval.high;
    inside &= interval.low <= median && median <= interval.high;
  }
  return {covered / static_cast<double>(kSets), inside};
}

double LogNormal(std::mt19937_64& random) {
  return std::lognormal_distribution<double>(6, 0.05)(random);
}
double WideLogNormal(std::mt19937_64& random) {
  return std::lognormal_distribution<double>(6, 0.8)(random);
}
// Throughput of a machine that is disturbed in one run of five.
double Disturbed(std::mt19937_64& random) {
  const double speed = std::normal_distribution<double>(1000, 20)(random);
  const double slow = std::exponential_distribution<double>(1 / 0.3)(random);
  return std::uniform_real_distribution<double>()(random) < 0.2
             ? speed / (1 + slow)
             : speed;
}

TEST(MedianIntervalTest, CoversTheMedianOfLogNormalData) {
  for (const int n : {3, 4, 5}) {
    for (const Draw& draw : {Draw(LogNormal), Draw(WideLogNormal)}) {
      const Coverage coverage = Simulate(n, std::exp(6), draw, 17);
      EXPECT_GT(coverage.covered, 0.94) << n;
      EXPECT_LT(coverage.covered, 0.96) << n;
      EXPECT_TRUE(coverage.median_inside) << n;
    }
  }
  for (const int n : {6, 7, 8, 10, 11, 15, 20, 50}) {
    for (const Draw& draw : {Draw(LogNormal), Draw(WideLogNormal)}) {
      const Coverage coverage = Simulate(n, std::exp(6), draw, 18);
      EXPECT_GT(coverage.covered, 0.93) << n;
      EXPECT_LT(coverage.covered, 0.97) << n;
      EXPECT_TRUE(coverage.median_inside) << n;
    }
  }
}

// Where a t interval covers the mean, which is somewhere else.
TEST(MedianIntervalTest, CoversTheMedianOfADisturbedMachine) {
  std::mt19937_64 random(5);
  std::vector<double> many(1000001);
  for (double& value : many) value = Disturbed(random);
  const double truth = Median(many);
  for (const int n : {10, 20, 50}) {
    const Coverage coverage = Simulate(n, truth, Disturbed, 19);
    EXPECT_GT(coverage.covered, 0.92) << n;
    EXPECT_LT(coverage.covered, 0.985) << n;
  }
}

TEST(RatioIntervalTest, HoldsTheRatioAndMirrors) {
  const Interval a{90, 120};
  const Interval b{45, 52};
  const Interval ratio = RatioInterval(100, a, 50, b);
  EXPECT_LT(ratio.low, 2);
  EXPECT_GT(ratio.high, 2);
  const Interval mirrored = RatioInterval(50, b, 100, a);
  EXPECT_NEAR(mirrored.low, 1 / ratio.high, 1e-12);
  EXPECT_NEAR(mirrored.high, 1 / ratio.low, 1e-12);
  // A side that is known exactly adds nothing.
  const Interval exact = RatioInterval(100, a, 50, {50, 50});
  EXPECT_NEAR(exact.low, 1.8, 1e-12);
  EXPECT_NEAR(exact.high, 2.4, 1e-12);
}

TEST(RatioIntervalTest, CoversTheRatioOfLogNormalMedians) {
  constexpr int kSets = 20000;
  std::mt19937_64 random(7);
  const auto draw = [&](int n, double mean, double deviation) {
    std::lognormal_distribution<double> distribution(mean, deviation);
    std::vector<double> values(static_cast<size_t>(n));
    for (double& value : values) value = distribution(random);
    return values;
  };
  const struct {
    int a, b;
  } sizes[] = {{3, 3}, {5, 5}, {3, 10}, {5, 20}, {10, 10}, {20, 20}};
  for (const auto& size : sizes) {
    int covered = 0;
    for (int i = 0; i < kSets; ++i) {
      const std::vector<double> a = draw(size.a, 6, 0.05);
      const std::vector<double> b = draw(size.b, 5, 0.1);
      const Interval ratio =
          RatioInterval(Median(a), *Of(a), Median(b), *Of(b));
      covered += ratio.low <= std::exp(1) && std::exp(1) <= ratio.high;
    }
    const double share = covered / static_cast<double>(kSets);
    EXPECT_GT(share, 0.92) << size.a << " and " << size.b;
    EXPECT_LT(share, 0.99) << size.a << " and " << size.b;
  }
}

}  // namespace
}  // namespace feedrate
