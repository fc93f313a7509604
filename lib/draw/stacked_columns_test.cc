#include "lib/draw/stacked_columns.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StackedColumns Example() {
  StackedColumns chart;
  chart.title = "Mixture";
  chart.x_title = "batch";
  chart.parts = {"a", "b", "others"};
  chart.colors = {0, 1, 6};
  chart.columns = {{"0", "batch 0", {1, 1, 2}, 3, true},
                   {"", "batch 1", {4, 0, 0}, 1, false},
                   {"100", "batch 100", {0, 0, 0}, 0, true},
                   {"", "batch 101", {1, 2, 1}, 2, false}};
  chart.wanted = {1, 2, 1};
  chart.wanted_label = "weights";
  chart.mark = 2;
  chart.below_title = "wait, ms";
  return chart;
}

TEST(StackedColumnsTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(DrawStackedColumns(Example()).ToFile(),
                            "lib/draw/testdata/stacked_columns.golden.svg"));
}

TEST(StackedColumnsTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    StackedColumns sized = Example();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawStackedColumns(sized).ToFile()).ok()) << width;
  }
}

TEST(StackedColumnsTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawStackedColumns(StackedColumns()).ToFile()).ok());
}

TEST(StackedColumnsTest, SaysSharesOfColumnsAndOfWhatIsWanted) {
  const std::string svg = DrawStackedColumns(Example()).ToFile();
  EXPECT_THAT(svg, HasSubstr("batch 0, others: 50.0%"));
  EXPECT_THAT(svg, HasSubstr("batch 1, a: 100.0%"));
  EXPECT_THAT(svg, HasSubstr("weights, b: 50.0%"));
  EXPECT_THAT(svg, HasSubstr("batch 0, wait, ms: 3.00"));
  // An empty column has no shares to speak of.
  EXPECT_THAT(svg, Not(HasSubstr("batch 100,")));
}

TEST(StackedColumnsTest, WithoutAPanelItIsLower) {
  StackedColumns chart = Example();
  const double height = DrawStackedColumns(chart).height();
  chart.below_title.clear();
  EXPECT_LT(DrawStackedColumns(chart).height(), height);
}

}  // namespace
}  // namespace feedrate
