#include "lib/draw/charts.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/output_checks.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(ScaleTest, LabelsHaveTheDigitsOfTheirStep) {
  EXPECT_EQ(Labels(Scale(ScaleType::kLinear, 2.96, 3.09, false), 3),
            "2.95 3 3.05 3.1 ");
  EXPECT_EQ(Labels(Scale(ScaleType::kLinear, 1210, 1290, false), 3),
            "1200 1250 1300 ");
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
             {0, 0},
             {5, 5},
             {-3, -3},
             {9, 1},
             {NAN, INFINITY},
             {-1, 0},
             {0, 5e-324},
             {1e-310, 2e-310},
             {-1.7e308, 1.7e308},
             {5e-324, 1.7e308},
             // Steps that vanish beside their ends used to go on for ever.
             {1e17, 1e17 + 16}}) {
      Scale scale(type, ends[0], ends[1], false);
      scale.SetRange(0, 100);
      for (const double value : {1.0, 5e-324, 1.7e308, -1.7e308}) {
        EXPECT_TRUE(std::isfinite(scale.Map(value)))
            << ends[0] << " " << ends[1] << " " << value;
      }
      EXPECT_LT(scale.low(), scale.high());
      EXPECT_LT(scale.Ticks(5).size(), 60u);
    }
  }
}

template <typename Chart>
void CheckDrawing(Chart chart, Svg (*draw)(const Chart&),
                  const std::string& golden) {
  EXPECT_TRUE(MatchesGolden(draw(chart).ToFile(), golden));
  for (const double width : {200.0, 326.0, 820.0}) {
    chart.width = width;
    EXPECT_TRUE(CheckXml(draw(chart).ToFile()).ok()) << width;
  }
}

BarChart ExampleBarChart() {
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

TEST(BarChartTest, IsAsBeforeAndWellFormedAtAnyWidth) {
  CheckDrawing(ExampleBarChart(), DrawBarChart,
               "lib/draw/testdata/bar_chart.golden.svg");
}

// In every chart with rows: a long label takes more lines, not fewer letters.
TEST(LabelTest, IsNeverCut) {
  const std::string label =
      "RandomResizedCropFromHere, batch_size=32, workers=2";
  BarChart bars = ExampleBarChart();
  bars.groups[0].name = label;
  bars.width = 326;
  ForestPlot forest;
  forest.rows.resize(1);
  forest.rows[0].label = label;
  forest.rows[0].ratio.value = 2;
  forest.width = 326;
  HeatMap map;
  map.columns = {"one"};
  map.rows = {label};
  map.cells = {{{0.5, "1", ""}}};
  map.width = 326;
  StripPlot strip;
  strip.rows = {{label, {1, 2}, absl::nullopt, ""}};
  strip.width = 326;
  for (const Svg& svg : {DrawBarChart(bars), DrawForestPlot(forest),
                         DrawHeatMap(map), DrawStripPlot(strip)}) {
    const std::string text = svg.ToInline();
    EXPECT_THAT(text, Not(HasSubstr("…")));
    EXPECT_THAT(text, HasSubstr(">workers=2<"));
  }
  // Names from a file may be anything.
  const LabelColumn column({std::string(1 << 20, 'x'), "", "ééééé"}, 20);
  EXPECT_LE(column.width(), 20);
  EXPECT_LE(column.Height(0), 13 * LabelColumn::kMostLines);
  EXPECT_EQ(column.Height(1), 13);
}

TEST(BarChartTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawBarChart(BarChart()).ToFile()).ok());
}

TEST(BarChartTest, LogScaleShowsSmallBars) {
  BarChart chart = ExampleBarChart();
  chart.scale = ScaleType::kLog;
  const std::string text = DrawBarChart(chart).ToFile();
  EXPECT_TRUE(CheckXml(text).ok());
  EXPECT_NE(text, DrawBarChart(ExampleBarChart()).ToFile());
  EXPECT_THAT(text, HasSubstr("unsupported"));
}

StackedColumns ExampleStackedColumns() {
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
  EXPECT_TRUE(
      MatchesGolden(DrawStackedColumns(ExampleStackedColumns()).ToFile(),
                    "lib/draw/testdata/stacked_columns.golden.svg"));
}

TEST(StackedColumnsTest, IsWellFormedAtAnyWidth) {
  for (const double width : {200.0, 326.0, 820.0}) {
    StackedColumns sized = ExampleStackedColumns();
    sized.width = width;
    EXPECT_TRUE(CheckXml(DrawStackedColumns(sized).ToFile()).ok()) << width;
  }
}

TEST(StackedColumnsTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawStackedColumns(StackedColumns()).ToFile()).ok());
}

TEST(StackedColumnsTest, SaysSharesOfColumnsAndOfWhatIsWanted) {
  const std::string svg = DrawStackedColumns(ExampleStackedColumns()).ToFile();
  EXPECT_THAT(svg, HasSubstr("batch 0, others: 50.0%"));
  EXPECT_THAT(svg, HasSubstr("batch 1, a: 100.0%"));
  EXPECT_THAT(svg, HasSubstr("weights, b: 50.0%"));
  EXPECT_THAT(svg, HasSubstr("batch 0, wait, ms: 3.00"));
  // An empty column has no shares.
  EXPECT_THAT(svg, Not(HasSubstr("batch 100,")));
}

TEST(StackedColumnsTest, WithoutAPanelItIsLower) {
  StackedColumns chart = ExampleStackedColumns();
  const double height = DrawStackedColumns(chart).height();
  chart.below_title.clear();
  EXPECT_LT(DrawStackedColumns(chart).height(), height);
}

HeatMap ExampleHeatMap() {
  HeatMap map;
  map.title = "Share";
  map.low_text = "slow";
  map.high_text = "fast";
  map.columns = {"one", "two"};
  map.rows = {"Blur", "Flip"};
  map.cells = {{{1.0, "500", "best"}, {0.25, "80", ""}},
               {{0.0, "1", ""}, {absl::nullopt, "–", "unsupported"}}};
  return map;
}

TEST(HeatMapTest, IsAsBeforeAndWellFormedAtAnyWidth) {
  CheckDrawing(ExampleHeatMap(), DrawHeatMap,
               "lib/draw/testdata/heat_map.golden.svg");
}

TEST(HeatMapTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawHeatMap(HeatMap()).ToFile()).ok());
}

TEST(HeatMapTest, TheBestIsBright) {
  EXPECT_THAT(DrawHeatMap(ExampleHeatMap()).ToFile(), HasSubstr("#fee838"));
}

LineChart ExampleLineChart() {
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

TEST(LineChartTest, IsAsBeforeAndWellFormedAtAnyWidth) {
  CheckDrawing(ExampleLineChart(), DrawLineChart,
               "lib/draw/testdata/line_chart.golden.svg");
}

TEST(LineChartTest, NamesAndMarksItsPoints) {
  LineChart chart;
  chart.x_names = {"abc", "def", "ghi"};
  chart.marks = {1.5};
  chart.from_zero = false;
  chart.series = {
      {"a", {{0, {100, {}}, ""}, {1, {101, {}}, ""}, {2, {150, {}}, ""}}}};
  const std::string text = DrawLineChart(chart).ToInline();
  EXPECT_THAT(text, HasSubstr(">ghi<"));
  EXPECT_THAT(text, HasSubstr("class=\"ref\""));
  EXPECT_THAT(text, Not(HasSubstr(">0<")));
}

TEST(LineChartTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawLineChart(LineChart()).ToFile()).ok());
}

TEST(LineChartTest, HasABandOnlyWhereIntervalsAre) {
  const std::string text = DrawLineChart(ExampleLineChart()).ToFile();
  EXPECT_THAT(text, HasSubstr("class=\"band f0\""));
  EXPECT_EQ(text.find("class=\"band f1\""), std::string::npos);
}

ForestPlot ExampleForestPlot() {
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

TEST(ForestPlotTest, IsAsBeforeAndWellFormedAtAnyWidth) {
  CheckDrawing(ExampleForestPlot(), DrawForestPlot,
               "lib/draw/testdata/forest_plot.golden.svg");
}

TEST(ForestPlotTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawForestPlot(ForestPlot()).ToFile()).ok());
}

TEST(ForestPlotTest, SaysRatiosInWordsToo) {
  EXPECT_THAT(DrawForestPlot(ExampleForestPlot()).ToFile(),
              HasSubstr("1.50× [1.20, 1.90]"));
}

StripPlot ExampleStripPlot() {
  StripPlot plot;
  plot.title = "Spread";
  plot.axis_title = "% off the median";
  plot.from_zero = false;
  plot.reference = 0;
  plot.rows = {{"one", {-1, 0, 0, 1.5}, Box{-0.5, 0, 0.5}, "four runs"},
               {"two", {9}, absl::nullopt, ""}};
  return plot;
}

TEST(StripPlotTest, IsAsBeforeAndWellFormedAtAnyWidth) {
  CheckDrawing(ExampleStripPlot(), DrawStripPlot,
               "lib/draw/testdata/strip_plot.golden.svg");
}

TEST(StripPlotTest, NothingToDrawIsStillAFigure) {
  EXPECT_TRUE(CheckXml(DrawStripPlot(StripPlot()).ToFile()).ok());
}

TEST(StripPlotTest, DrawsEveryValue) {
  const std::string text = DrawStripPlot(ExampleStripPlot()).ToFile();
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
