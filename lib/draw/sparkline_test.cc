#include "lib/draw/sparkline.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(SparklineTest, ScalesFromLowestToHighest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline({-1, 1}), "▁█");
}

TEST(SparklineTest, OddInput) {
  EXPECT_EQ(Sparkline({}), "");
  EXPECT_EQ(Sparkline({3, 3}), "▅▅");
  EXPECT_EQ(Sparkline({1, std::nan(""), 2}), "▁ █");
}

TEST(SparklineTest, JoinsWhatIsTooLong) {
  EXPECT_EQ(Sparkline({0, 0, 1, 1}, 2), "▁█");
}

}  // namespace
}  // namespace feedrate
