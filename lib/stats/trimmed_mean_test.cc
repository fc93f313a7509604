#include "lib/stats/trimmed_mean.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

double Of(std::vector<double> values) {
  return TrimmedMean(absl::MakeSpan(values));
}

TEST(TrimmedMeanTest, KeepsAllOfOneAndTwo) {
  EXPECT_DOUBLE_EQ(Of({4}), 4);
  EXPECT_DOUBLE_EQ(Of({4, 8}), 6);
}

TEST(TrimmedMeanTest, IsTheMedianOfThreeAndFour) {
  EXPECT_DOUBLE_EQ(Of({9, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Of({9, 1, 2, 4}), 3);
}

TEST(TrimmedMeanTest, DropsAFifthAtEachEnd) {
  EXPECT_DOUBLE_EQ(Of({1000, 3, 1, 2, -1000}), 2);
  EXPECT_DOUBLE_EQ(Of({0, 0, 1, 2, 3, 4, 5, 6, 900, 900}), 3.5);
}

TEST(TrimmedMeanTest, OneWildSampleDoesNotMoveIt) {
  EXPECT_NEAR(TypicalLog({1, 1, 1, 1, 50}), 0, 1e-12);
  EXPECT_NEAR(TypicalLog({2, 2, 2}), std::log(2), 1e-12);
}

}  // namespace
}  // namespace feedrate
