#include "lib/draw/bar_chart.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

BarChart Example() {
  BarChart chart;
  chart.title = "Throughput";
  chart.axis_title = "images per second";
  chart.series = {"one", "two & more"};
  Bar fast{Estimate{1200, Whiskers{1100, 1350}}, "1,200", "one, Blur"};
  Bar slow{Estimate{12, absl::nullopt}, "12.0", ""};
  Bar none{absl::nullopt, "unsupported", "no <Blur>"};
  chart.groups = {{"Blur", {fast, none}}, {"Flip", {slow, absl::nullopt}}};
  return chart;
}

TEST(BarChartTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawBarChart(Example()).ToFile(),
                            "lib/draw/testdata/bar_chart.golden.svg"));
}

TEST(BarChartTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    BarChart sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawBarChart(sized).ToFile()).ok()) << width;
  }
}

TEST(BarChartTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawBarChart(BarChart()).ToFile()).ok());
}

TEST(BarChartTest, LogScaleShowsSmallBars) {
  BarChart chart = Example();
  chart.scale = ScaleType::kLog;
  const std::string text = DrawBarChart(chart).ToFile();
  EXPECT_TRUE(CheckXml(text).ok());
  EXPECT_NE(text, DrawBarChart(Example()).ToFile());
  EXPECT_THAT(text, HasSubstr("unsupported"));
}

}  // namespace
}  // namespace feedrate
