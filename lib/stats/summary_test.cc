#include "lib/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/xoshiro.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

const std::vector<double> kRuns = {812.5, 790.25, 845.0,  801.75,
                                   799.5, 1020.0, 778.125};

TEST(QuantilesTest, AgreesWithNumPy) {
  const std::vector<std::pair<double, double>> expected = {
      {0, 778.125}, {0.25, 794.875}, {0.5, 801.75},
      {0.9, 915.0}, {0.99, 1009.5},  {1, 1020.0}};
  for (const auto& [p, value] : expected) {
    EXPECT_NEAR(Quantile(kRuns, p), value, 1e-9) << p;
    std::vector<double> copy = kRuns;
    EXPECT_EQ(SelectQuantile(absl::MakeSpan(copy), p), Quantile(kRuns, p));
    std::sort(copy.begin(), copy.end());
    EXPECT_EQ(SortedQuantile(copy, p), Quantile(kRuns, p));
  }
}

TEST(QuantilesTest, OneValueIsEveryQuantile) {
  EXPECT_EQ(Quantile({3.5}, 0), 3.5);
  EXPECT_EQ(Quantile({3.5}, 0.37), 3.5);
  EXPECT_EQ(Median({3.5}), 3.5);
}

TEST(QuantilesTest, MedianOfAnEvenNumberIsTheMiddle) {
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

double TrimmedMeanOf(std::vector<double> values) {
  return TrimmedMean(absl::MakeSpan(values));
}

TEST(TrimmedMeanTest, KeepsAllOfOneAndTwo) {
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({4}), 4);
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({4, 8}), 6);
}

TEST(TrimmedMeanTest, IsTheMedianOfThreeAndFour) {
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({9, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({9, 1, 2, 4}), 3);
}

TEST(TrimmedMeanTest, DropsAFifthAtEachEnd) {
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({1000, 3, 1, 2, -1000}), 2);
  EXPECT_DOUBLE_EQ(TrimmedMeanOf({0, 0, 1, 2, 3, 4, 5, 6, 900, 900}), 3.5);
}

TEST(TrimmedMeanTest, OneWildSampleDoesNotMoveIt) {
  EXPECT_NEAR(TypicalLog({1, 1, 1, 1, 50}), 0, 1e-12);
  EXPECT_NEAR(TypicalLog({2, 2, 2}), std::log(2), 1e-12);
}

std::vector<double> LogNormalSample(size_t n) {
  std::mt19937_64 random(n);
  std::lognormal_distribution<double> draw(-6, 1);
  std::vector<double> values(n);
  for (double& value : values) value = draw(random);
  return values;
}

SampleQuantiles Pool(const std::vector<double>& values) {
  SampleQuantiles pool;
  for (const double value : values) pool.Add(value);
  return pool;
}

TEST(SampleQuantilesTest, FewSamplesAreExact) {
  const std::vector<double> values = LogNormalSample(SampleQuantiles::kExact);
  const SampleQuantiles pool = Pool(values);
  for (const double p : {0.0, 0.5, 0.9, 0.99, 1.0}) {
    EXPECT_EQ(pool.Quantile(p), Quantile(values, p)) << p;
  }
}

TEST(SampleQuantilesTest, ManySamplesAreWithinATenthOfAPercent) {
  const std::vector<double> values = LogNormalSample(200000);
  const SampleQuantiles pool = Pool(values);
  EXPECT_EQ(pool.count(), 200000);
  for (const double p : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = Quantile(values, p);
    EXPECT_NEAR(pool.Quantile(p), exact, 0.0011 * exact) << p;
  }
}

// The mean of the two medians would be 51, which is wrong.
TEST(SampleQuantilesTest, PoolsInsteadOfAveraging) {
  const SampleQuantiles pool = Pool({1, 1, 1, 1, 1, 1, 1, 101, 101, 101});
  EXPECT_EQ(pool.Quantile(0.5), 1);
}

TEST(SampleQuantilesTest, OrderDoesNotMatter) {
  std::vector<double> values = LogNormalSample(9000);
  const SampleQuantiles forward = Pool(values);
  std::reverse(values.begin(), values.end());
  const SampleQuantiles backward = Pool(values);
  EXPECT_EQ(backward.count(), 9000);
  for (const double p : {0.1, 0.5, 0.99}) {
    EXPECT_EQ(backward.Quantile(p), forward.Quantile(p));
  }
}

TEST(SampleQuantilesTest, ZeroAndLessAreZero) {
  SampleQuantiles pool = Pool({-1, 0});
  EXPECT_EQ(pool.Quantile(0.5), 0);
  for (int i = 0; i < 5000; ++i) pool.Add(0);
  EXPECT_EQ(pool.Quantile(1), 0);
}

// Expected values are scipy.stats.t of SciPy 1.
TEST(StudentTTest, CdfAgreesWithSciPy) {
  EXPECT_EQ(StudentTCdf(0, 5), 0.5);
  EXPECT_NEAR(StudentTCdf(1.5, 3), 0.8847080673775886, 1e-12);
  EXPECT_NEAR(StudentTCdf(-2.2, 7.3), 0.0310845827000118, 1e-12);
}

TEST(StudentTTest, QuantileAgreesWithSciPy) {
  EXPECT_NEAR(StudentTQuantile(0.975, 1), 12.706204736174694, 1e-9);
  EXPECT_NEAR(StudentTQuantile(0.975, 2), 4.302652729749462, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.975, 4), 2.7764451051977934, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.975, 1000), 1.962339080826408, 1e-9);
  EXPECT_NEAR(StudentTQuantile(0.9, 2.5), 1.7302509288071763, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.6, 30), 0.2556053649519128, 1e-10);
  EXPECT_NEAR(StudentTQuantile(0.025, 3), -3.1824463052837078, 1e-10);
}

absl::optional<Interval> IntervalOf(std::vector<double> values) {
  return MedianInterval(absl::MakeSpan(values));
}

TEST(MedianIntervalTest, NoneForOneOrTwoRuns) {
  EXPECT_FALSE(IntervalOf({100}).has_value());
  EXPECT_FALSE(IntervalOf({100, 101}).has_value());
  EXPECT_FALSE(IntervalOf({100, 101, 0}).has_value());
}

// scipy.stats.t.interval of the logarithms.
TEST(MedianIntervalTest, ThreeRunsAgreeWithSciPy) {
  const auto interval = IntervalOf({812.5, 790.25, 845.0});
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
      IntervalOf({812.5, 790.25, 845.0, 801.75, 799.5, 1020.0, 778.125});
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
    const auto interval = IntervalOf(std::vector<double>(n, 123.4));
    ASSERT_TRUE(interval.has_value());
    EXPECT_NEAR(interval->low, 123.4, 1e-9);
    EXPECT_NEAR(interval->high, 123.4, 1e-9);
    EXPECT_LE(interval->low, 123.4);
    EXPECT_GE(interval->high, 123.4);
  }
}

using Draw = std::function<double(Xoshiro256&)>;

struct Coverage {
  double covered;
  bool median_inside;
};

// Share of simulated data sets whose interval contains `truth`.
Coverage Simulate(int n, double truth, const Draw& draw, uint64_t seed) {
  constexpr int kSets = 20000;
  Xoshiro256 random(seed);
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

double LogNormal(Xoshiro256& random) {
  return std::exp(6 + 0.05 * random.Normal());
}
double WideLogNormal(Xoshiro256& random) {
  return std::exp(6 + 0.8 * random.Normal());
}
// Throughput of a machine that is disturbed in one run of five.
double Disturbed(Xoshiro256& random) {
  const double speed = 1000 + 20 * random.Normal();
  const double slow = 0.3 * random.Exponential();
  return random.Uniform() < 0.2 ? speed / (1 + slow) : speed;
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
  Xoshiro256 random(5);
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
  // A side without uncertainty adds nothing.
  const Interval exact = RatioInterval(100, a, 50, {50, 50});
  EXPECT_NEAR(exact.low, 1.8, 1e-12);
  EXPECT_NEAR(exact.high, 2.4, 1e-12);
}

TEST(RatioIntervalTest, CoversTheRatioOfLogNormalMedians) {
  constexpr int kSets = 20000;
  Xoshiro256 random(7);
  const auto draw = [&](int n, double mean, double deviation) {
    std::vector<double> values(static_cast<size_t>(n));
    for (double& value : values) {
      value = std::exp(mean + deviation * random.Normal());
    }
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
          RatioInterval(Median(a), *IntervalOf(a), Median(b), *IntervalOf(b));
      covered += ratio.low <= std::exp(1) && std::exp(1) <= ratio.high;
    }
    const double share = covered / static_cast<double>(kSets);
    EXPECT_GT(share, 0.92) << size.a << " and " << size.b;
    EXPECT_LT(share, 0.99) << size.a << " and " << size.b;
  }
}

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

Summary SummaryOf(std::vector<double> values) {
  return Summarize(absl::MakeSpan(values));
}

TEST(SummaryTest, AgreesWithNumPy) {
  const Summary summary = SummaryOf(kRuns);
  EXPECT_EQ(summary.n, 7);
  EXPECT_EQ(summary.median, 801.75);
  EXPECT_NEAR(summary.mean, 835.3035714285714, 1e-10);
  EXPECT_NEAR(summary.sd, 84.09691387095634, 1e-10);
  EXPECT_NEAR(summary.cv, 84.09691387095634 / 835.3035714285714, 1e-13);
  EXPECT_EQ(summary.min, 778.125);
  EXPECT_EQ(summary.max, 1020);
  EXPECT_NEAR(GeometricMean(kRuns), 832.0241596918521, 1e-9);
  const auto interval = GeometricMeanInterval(kRuns);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 763.1341333557532, 1e-8);
  EXPECT_NEAR(interval->high, 907.1330609559003, 1e-8);
}

TEST(SummaryTest, OneRunHasNoDeviation) {
  const Summary summary = SummaryOf({42});
  EXPECT_EQ(summary.median, 42);
  EXPECT_EQ(summary.sd, 0);
  EXPECT_EQ(summary.cv, 0);
  EXPECT_FALSE(summary.interval.has_value());
  EXPECT_FALSE(GeometricMeanInterval({1, 2}).has_value());
}

TEST(SlopeTest, IsThatOfALineWithOutliers) {
  std::vector<double> line;
  for (int i = 0; i < 30; ++i) line.push_back(5 + 3 * i + i % 3);
  line[4] = 1e6;
  const auto slope = SlopeOf(line);
  ASSERT_TRUE(slope.has_value());
  EXPECT_NEAR(slope->median, 3, 0.05);
  EXPECT_GT(slope->interval.low, 2.8);
  EXPECT_LT(slope->interval.high, 3.2);
  EXPECT_FALSE(SlopeOf({1, 2, 3}).has_value());
  // All slopes of four values leave out the true one in 2 of 24 orders.
  EXPECT_FALSE(SlopeOf({1, 2, 3, 4}).has_value());
  EXPECT_EQ(SlopeOf({7, 7, 7, 7, 7})->interval.high, 0);
}

// In 95 of 100 cases the interval of plain noise has 0.
TEST(SlopeTest, NoiseHasNone) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> draw(100, 4);
  for (const size_t size : {5, 6, 8, 20, 70}) {
    int covered = 0;
    constexpr int kTimes = 1000;
    for (int i = 0; i < kTimes; ++i) {
      std::vector<double> values(size);
      for (double& value : values) value = draw(random);
      const auto slope = SlopeOf(values);
      covered += slope->interval.low <= 0 && slope->interval.high >= 0;
    }
    EXPECT_GE(covered, 0.935 * kTimes) << size;
  }
}

TEST(ChiSquareTest, HasTheQuantilesOfTables) {
  EXPECT_NEAR(ChiSquareTail(3.841, 1), 0.05, 0.01);
  EXPECT_NEAR(ChiSquareTail(18.307, 10), 0.05, 0.001);
  EXPECT_NEAR(ChiSquareTail(50.892, 28), 0.005, 0.0005);
  EXPECT_NEAR(ChiSquareTail(27.336, 28), 0.5, 0.001);
}

TEST(SummaryTest, TheSameBitsInAnyOrder) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> draw(6, 0.5);
  for (const int n : {3, 5, 6, 17, 1000}) {
    std::vector<double> values(static_cast<size_t>(n));
    for (double& value : values) value = draw(random);
    const Summary expected = SummaryOf(values);
    for (int i = 0; i < 20; ++i) {
      std::shuffle(values.begin(), values.end(), random);
      const Summary again = SummaryOf(values);
      ASSERT_EQ(again.median, expected.median);
      ASSERT_EQ(again.mean, expected.mean);
      ASSERT_EQ(again.sd, expected.sd);
      ASSERT_EQ(again.interval->low, expected.interval->low);
      ASSERT_EQ(again.interval->high, expected.interval->high);
    }
  }
}

}  // namespace
}  // namespace feedrate
