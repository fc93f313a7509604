#include "lib/stats/summary.h"

#include <algorithm>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

const std::vector<double> kRuns = {812.5, 790.25, 845.0,  801.75,
                                   799.5, 1020.0, 778.125};

Summary Of(std::vector<double> values) {
  return Summarize(absl::MakeSpan(values));
}

TEST(SummaryTest, AgreesWithNumPy) {
  const Summary summary = Of(kRuns);
  EXPECT_EQ(summary.n, 7);
  EXPECT_EQ(summary.median, 801.75);
  EXPECT_NEAR(summary.mean, 835.3035714285714, 1e-10);
  EXPECT_NEAR(summary.sd, 84.09691387095634, 1e-10);
  EXPECT_NEAR(summary.cv, 84.09691387095634 / 835.3035714285714, 1e-13);
  EXPECT_EQ(summary.min, 778.125);
  EXPECT_EQ(summary.max, 1020);
  EXPECT_NEAR(GeometricMean(kRuns), 832.0241596918521, 1e-9);
  EXPECT_NEAR(LogDeviation(kRuns), 0.09345089761537437, 1e-12);
  const auto interval = GeometricMeanInterval(kRuns);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 763.1341333557532, 1e-8);
  EXPECT_NEAR(interval->high, 907.1330609559003, 1e-8);
}

TEST(SummaryTest, OneRunHasNoDeviation) {
  const Summary summary = Of({42});
  EXPECT_EQ(summary.median, 42);
  EXPECT_EQ(summary.sd, 0);
  EXPECT_EQ(summary.cv, 0);
  EXPECT_FALSE(summary.interval.has_value());
  EXPECT_FALSE(GeometricMeanInterval({1, 2}).has_value());
}

TEST(SummaryTest, TheSameBitsInAnyOrder) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> draw(6, 0.5);
  for (const int n : {3, 5, 6, 17, 1000}) {
    std::vector<double> values(static_cast<size_t>(n));
    for (double& value : values) value = draw(random);
    const Summary expected = Of(values);
    for (int i = 0; i < 20; ++i) {
      std::shuffle(values.begin(), values.end(), random);
      const Summary again = Of(values);
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
