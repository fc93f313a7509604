#include "lib/draw/line_chart.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

LineChart Example() {
  LineChart chart;
  chart.title = "Scaling";
  chart.x_title = "workers";
  chart.y_title = "images per second";
  LineSeries one{"one", {}};
  for (const double x : {0.0, 1.0, 2.0, 4.0}) {
    const double y = 100 + 90 * x;
    one.points.push_back({x, {y, Whiskers{0.9 * y, 1.1 * y}}, "hover"});
  }
  LineSeries two{"two", {{1, {50, absl::nullopt}, ""}}};
  chart.series = {one, two};
  return chart;
}

TEST(LineChartTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawLineChart(Example()).ToFile(),
                            "lib/draw/testdata/line_chart.golden.svg"));
}

TEST(LineChartTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    LineChart sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawLineChart(sized).ToFile()).ok()) << width;
  }
}

TEST(LineChartTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawLineChart(LineChart()).ToFile()).ok());
}

TEST(LineChartTest, HasABandOnlyWhereIntervalsAre) {
  const std::string text = DrawLineChart(Example()).ToFile();
  EXPECT_THAT(text, HasSubstr("class=\"band f0\""));
  EXPECT_EQ(text.find("class=\"band f1\""), std::string::npos);
}

}  // namespace
}  // namespace feedrate
