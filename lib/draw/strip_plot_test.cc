#include "lib/draw/strip_plot.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

StripPlot Example() {
  StripPlot plot;
  plot.title = "Spread";
  plot.axis_title = "% off the median";
  plot.from_zero = false;
  plot.reference = 0;
  plot.rows = {{"one", {-1, 0, 0, 1.5}, Box{-0.5, 0, 0.5}, "four runs"},
               {"two", {9}, absl::nullopt, ""}};
  return plot;
}

TEST(StripPlotTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawStripPlot(Example()).ToFile(),
                            "lib/draw/testdata/strip_plot.golden.svg"));
}

TEST(StripPlotTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    StripPlot sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawStripPlot(sized).ToFile()).ok()) << width;
  }
}

TEST(StripPlotTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawStripPlot(StripPlot()).ToFile()).ok());
}

TEST(StripPlotTest, DrawsEveryValue) {
  const std::string text = DrawStripPlot(Example()).ToFile();
  size_t dots = 0;
  for (size_t at = text.find("<circle"); at != std::string::npos;
       at = text.find("<circle", at + 1)) {
    ++dots;
  }
  EXPECT_EQ(dots, 5u);
  EXPECT_THAT(text, HasSubstr("four runs"));
}

}  // namespace
}  // namespace feedrate
