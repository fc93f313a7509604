// Charts as SVG.
#pragma once

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/axes.h"
#include "lib/draw/svg.h"

namespace feedrate {

// The ends of an interval.
struct Whiskers {
  double low = 0;
  double high = 0;
};

// A value to draw. Without whiskers its uncertainty is unknown.
struct Estimate {
  double value = 0;
  absl::optional<Whiskers> whiskers;
};

// Bar charts: bars with intervals, such as each library's speed at each
// transform.

struct Bar {
  // Absent: no bar; `text` says why.
  absl::optional<Estimate> estimate;
  // Next to the bar, such as "1,234".
  std::string text;
  // Full details, shown when the pointer is over the bar.
  std::string hover;
};

struct BarGroup {
  std::string name;
  // One per series. Absent if the series has no value in this group.
  std::vector<absl::optional<Bar>> bars;
};

struct BarChart {
  std::string title;
  // Title of the horizontal axis, with the unit.
  std::string axis_title;
  std::vector<std::string> series;
  // Color number of each series; see DrawLegend. Empty: 0, 1, 2, ….
  std::vector<int> colors;
  std::vector<BarGroup> groups;
  ScaleType scale = ScaleType::kLinear;
  double width = 760;
};

// Draws horizontal bars, so that long names stay legible, with groups from top
// to bottom.
Svg DrawBarChart(const BarChart& chart);

// Stacked columns: how the parts of a whole change, with one column of shares
// per moment.

struct StackedColumn {
  // Below the column. Left out if it is empty or there is no room.
  std::string label;
  // Shown first when the pointer is over the column, such as "batches 10 to
  // 19".
  std::string name;
  // One per part, none below 0; drawn as shares of their sum.
  std::vector<double> values;
  // The value in the panel below.
  double below = 0;
  // Draws a gap before this column.
  bool starts_group = false;
};

struct StackedColumns {
  std::string title;
  std::string x_title;
  std::string y_title = "share of samples, %";
  std::vector<std::string> parts;
  // Color number of each part; see DrawLegend. Empty: 0, 1, 2, ….
  std::vector<int> colors;
  std::vector<StackedColumn> columns;
  // The intended shares, drawn as a separate column to the right with this
  // label. Empty: no such column.
  std::vector<double> wanted;
  std::string wanted_label;
  // Draws a dashed line before this column, for example at the end of a
  // warm-up. 0: none.
  size_t mark = 0;
  // Title of the panel that shows each column's `below`. Empty: no panel.
  std::string below_title;
  double width = 820;
};

Svg DrawStackedColumns(const StackedColumns& chart);

// Heat maps: a table in colors, such as where a library is fast and where it is
// not.

struct HeatCell {
  // From 0 (dark) to 1 (bright). Absent if nothing was measured.
  absl::optional<double> share;
  std::string text;
  std::string hover;
};

struct HeatMap {
  std::string title;
  // What the colors at 0 and at 1 mean.
  std::string low_text;
  std::string high_text;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  // cells[row][column].
  std::vector<std::vector<HeatCell>> cells;
  double width = 760;
};

Svg DrawHeatMap(const HeatMap& map);

// Line charts: curves with bands, such as throughput by number of workers.

struct LinePoint {
  double x = 0;
  Estimate y;
  std::string hover;
};

struct LineSeries {
  // In the legend. Leave it empty in all series for a chart without one.
  std::string name;
  // In ascending order of x.
  std::vector<LinePoint> points;
};

struct LineChart {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<LineSeries> series;
  // Color number of each series; see DrawLegend. Empty: 0, 1, 2, ….
  std::vector<int> colors;
  ScaleType y_scale = ScaleType::kLinear;
  // Whether a linear y axis includes 0.
  bool from_zero = true;
  // Names of the values 0, 1, 2, … of x. Empty: the values are written.
  std::vector<std::string> x_names;
  // Values of x at which a dashed line is drawn, such as changes.
  std::vector<double> marks;
  double width = 560;
  double height = 300;
};

// The ticks of the horizontal axis are at the measured values.
Svg DrawLineChart(const LineChart& chart);

// Forest plots: ratios with their intervals, in rows, around a line at 1 (no
// difference).

struct ForestRow {
  std::string label;
  Estimate ratio;
  // Instead of the ratio as a number. Empty: the number with its interval.
  std::string text;
  // Color number.
  int series = 0;
  // A summary of the rows, drawn as a diamond.
  bool is_summary = false;
  // A heading; `ratio` is not drawn.
  bool is_heading = false;
  std::string hover;
};

struct ForestPlot {
  std::string title;
  std::string axis_title;
  // Left and right of the line, such as "slower" and "faster".
  std::string below_text;
  std::string above_text;
  std::vector<ForestRow> rows;
  double width = 760;
};

// The axis is logarithmic: twice and half as fast are equally far from 1.
Svg DrawForestPlot(const ForestPlot& plot);

// Strip plots: every value as a dot, with a box behind them, to show the noise.

// Quartiles; the caller computes them.
struct Box {
  double low = 0;
  double middle = 0;
  double high = 0;
};

struct StripRow {
  std::string name;
  std::vector<double> values;
  absl::optional<Box> box;
  std::string hover;
  // Color number. Absent: the row's index.
  absl::optional<int> series = absl::nullopt;
};

struct StripPlot {
  std::string title;
  std::string axis_title;
  std::vector<StripRow> rows;
  ScaleType scale = ScaleType::kLinear;
  // Whether the axis includes 0.
  bool from_zero = true;
  // A line across all rows, such as a limit.
  absl::optional<double> reference;
  double width = 760;
};

// Spreads dots vertically by a fixed pattern, so that equal values stay visible
// and the picture is always the same.
Svg DrawStripPlot(const StripPlot& plot);

}  // namespace feedrate
