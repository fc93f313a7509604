#include "lib/stats/quantiles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace feedrate
