#include "lib/draw/forest_plot.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

ForestPlot Example() {
  ForestPlot plot;
  plot.title = "Speed-up";
  plot.axis_title = "ratio";
  plot.below_text = "slower";
  plot.above_text = "faster";
  ForestRow heading;
  heading.label = "two";
  heading.is_heading = true;
  ForestRow row;
  row.label = "Blur";
  row.ratio = Estimate{1.5, Whiskers{1.2, 1.9}};
  ForestRow lone;
  lone.label = "Flip";
  lone.ratio = Estimate{0.6, absl::nullopt};
  ForestRow mean;
  mean.label = "mean of 2";
  mean.ratio = Estimate{0.95, Whiskers{0.5, 1.8}};
  mean.is_summary = true;
  plot.rows = {heading, row, lone, mean};
  return plot;
}

TEST(ForestPlotTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawForestPlot(Example()).ToFile(),
                            "lib/draw/testdata/forest_plot.golden.svg"));
}

TEST(ForestPlotTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    ForestPlot sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawForestPlot(sized).ToFile()).ok()) << width;
  }
}

TEST(ForestPlotTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawForestPlot(ForestPlot()).ToFile()).ok());
}

TEST(ForestPlotTest, SaysRatiosInWordsToo) {
  EXPECT_THAT(DrawForestPlot(Example()).ToFile(),
              HasSubstr("1.50× [1.20, 1.90]"));
}

}  // namespace
}  // namespace feedrate
