#include "lib/draw/stacked_bars.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

StackedBars Example() {
  StackedBars chart;
  chart.title = "Stages";
  chart.axis_title = "ms per batch";
  chart.parts = {"read", "decode", "augment"};
  chart.rows = {{"one", {1, 6, 3}, "10 ms"}, {"two", {1, 0, 9}, "10 ms"}};
  return chart;
}

TEST(StackedBarsTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawStackedBars(Example()).ToFile(),
                            "lib/draw/testdata/stacked_bars.golden.svg"));
}

TEST(StackedBarsTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    StackedBars sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawStackedBars(sized).ToFile()).ok()) << width;
  }
}

TEST(StackedBarsTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawStackedBars(StackedBars()).ToFile()).ok());
}

TEST(StackedBarsTest, SaysShares) {
  EXPECT_THAT(DrawStackedBars(Example()).ToFile(),
              HasSubstr("one, decode: 6.00 (60.0%)"));
}

}  // namespace
}  // namespace feedrate
