#include "lib/draw/scale.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

std::string Labels(const Scale& scale, int wanted) {
  std::string text;
  for (const Tick& tick : scale.Ticks(wanted)) {
    if (!tick.label.empty()) text += tick.label + " ";
  }
  return text;
}

TEST(ScaleTest, LinearWidensToRoundNumbers) {
  const Scale scale(ScaleType::kLinear, 0, 973, true);
  EXPECT_EQ(scale.low(), 0);
  EXPECT_EQ(scale.high(), 1000);
  EXPECT_EQ(Labels(scale, 5), "0 200 400 600 800 1k ");
}

TEST(ScaleTest, MapsEndsOntoTheRange) {
  Scale scale(ScaleType::kLinear, 0, 10, true);
  scale.SetRange(100, 0);
  EXPECT_DOUBLE_EQ(scale.Map(0), 100);
  EXPECT_DOUBLE_EQ(scale.Map(5), 50);
  EXPECT_DOUBLE_EQ(scale.Map(1e9), 0) << "beyond the end is the end";
}

TEST(ScaleTest, LogHasEqualStepsForEqualRatios) {
  Scale scale(ScaleType::kLog, 10, 1000, false);
  scale.SetRange(0, 2);
  EXPECT_NEAR(scale.Map(100), 1, 1e-12);
  EXPECT_DOUBLE_EQ(scale.Map(-5), 0) << "no logarithm: at the low end";
  EXPECT_EQ(Labels(scale, 6), "10 20 50 100 200 500 1k ");
  EXPECT_EQ(Labels(scale, 3), "10 100 1k ");
}

TEST(ScaleTest, AnyInputGivesAUsableScale) {
  for (ScaleType type : {ScaleType::kLinear, ScaleType::kLog}) {
    for (const std::vector<double>& ends : std::vector<std::vector<double>>{
             {0, 0}, {5, 5}, {-3, -3}, {9, 1}, {NAN, INFINITY}, {-1, 0}}) {
      Scale scale(type, ends[0], ends[1], false);
      scale.SetRange(0, 100);
      EXPECT_TRUE(std::isfinite(scale.Map(1))) << ends[0] << " " << ends[1];
      EXPECT_LT(scale.low(), scale.high());
      EXPECT_LT(scale.Ticks(5).size(), 60u);
    }
  }
}

}  // namespace
}  // namespace feedrate
