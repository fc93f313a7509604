#include "lib/stats/sample_quantiles.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

std::vector<double> Draw(size_t n) {
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
  const std::vector<double> values = Draw(SampleQuantiles::kExact);
  const SampleQuantiles pool = Pool(values);
  for (const double p : {0.0, 0.5, 0.9, 0.99, 1.0}) {
    EXPECT_EQ(pool.Quantile(p), Quantile(values, p)) << p;
  }
}

TEST(SampleQuantilesTest, ManySamplesAreWithinATenthOfAPercent) {
  const std::vector<double> values = Draw(200000);
  const SampleQuantiles pool = Pool(values);
  EXPECT_EQ(pool.count(), 200000);
  for (const double p : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = Quantile(values, p);
    EXPECT_NEAR(pool.Quantile(p), exact, 0.0011 * exact) << p;
  }
}

// The mean of two medians would be 51 here, and wrong.
TEST(SampleQuantilesTest, PoolsInsteadOfAveraging) {
  SampleQuantiles pool = Pool({1, 1, 1, 1, 1, 1, 1});
  pool.Merge(Pool({101, 101, 101}));
  EXPECT_EQ(pool.Quantile(0.5), 1);
}

TEST(SampleQuantilesTest, PartsDoNotMatter) {
  const std::vector<double> values = Draw(9000);
  const SampleQuantiles whole = Pool(values);
  for (const size_t cut : {1, 3000, 4096, 4097, 8999}) {
    SampleQuantiles one = Pool({values.begin(), values.begin() + cut});
    SampleQuantiles two = Pool({values.begin() + cut, values.end()});
    SampleQuantiles back = two;
    back.Merge(one);
    one.Merge(two);
    EXPECT_EQ(one.count(), 9000);
    for (const double p : {0.1, 0.5, 0.99}) {
      EXPECT_EQ(one.Quantile(p), whole.Quantile(p));
      EXPECT_EQ(back.Quantile(p), whole.Quantile(p));
    }
  }
}

TEST(SampleQuantilesTest, ZeroAndLessAreZero) {
  SampleQuantiles pool = Pool({-1, 0});
  EXPECT_EQ(pool.Quantile(0.5), 0);
  for (int i = 0; i < 5000; ++i) pool.Add(0);
  EXPECT_EQ(pool.Quantile(1), 0);
}

}  // namespace
}  // namespace feedrate
