// Scales, axes, grids and legends that all charts share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/draw/svg.h"

namespace feedrate {

enum class ScaleType { kLinear, kLog };

struct Tick {
  double value;
  // Empty for a minor tick.
  std::string label;
};

// Maps values to coordinates on an axis whose ends are round numbers.
class Scale {
 public:
  // Covers at least [low, high]. A linear scale includes 0 if `from_zero`. A
  // log scale has positive ends: values at or below 0 are placed at its low
  // end. Any input gives a usable scale, even equal or absurd ends.
  Scale(ScaleType type, double low, double high, bool from_zero);

  // Coordinates of the two ends. `start` > `end` for axes that grow upwards.
  void SetRange(double start, double end);

  // The coordinate of `value`. Values beyond an end are placed at that end.
  double Map(double value) const;

  // About `wanted` labeled ticks at 1, 2 or 5 times a power of ten. On a log
  // scale over many decades, labels are at powers of ten and the rest are minor
  // ticks.
  std::vector<Tick> Ticks(int wanted) const;

  ScaleType type() const { return type_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  std::vector<Tick> LinearTicks(int wanted) const;
  std::vector<Tick> LogTicks(int wanted) const;

  const ScaleType type_;
  double low_;
  double high_;
  double start_ = 0;
  double end_ = 1;
};

// Width of the labels of a vertical axis.
inline constexpr double kAxisLabels = 62;

// The area of a chart inside its axes.
struct Area {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Height that DrawXAxis needs below the area.
inline constexpr double kXAxisHeight = 38;

// Draws grid lines through the area, numbers below it, and `title` below them.
// The range of `scale` must be the area's left and right.
void DrawXAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title);
// The same with numbers to the left and a vertical `title` next to them.
void DrawYAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title);

// Width of the widest label.
double LabelWidth(const std::vector<std::string>& labels);

// The labels to the left of a chart's rows. A label that is wider than the
// column is broken into lines, between words if it has any; it is never cut
// unless it would take more than kMostLines.
class LabelColumn {
 public:
  static constexpr size_t kMostLines = 6;

  // Makes the column at most `limit` wide.
  LabelColumn(const std::vector<std::string>& labels, double limit);

  double width() const { return width_; }
  // Height that a row needs for label `i`.
  double Height(size_t i) const;
  // Draws label `i` to the left of `right`, with its middle at height `middle`.
  void Draw(Svg* svg, size_t i, double right, double middle,
            absl::string_view css_class = "l") const;

 private:
  double width_ = 0;
  std::vector<std::vector<std::string>> lines_;
};

// A legend: color swatches and names of series, in as many lines as `width`
// needs. `colors` holds the color number of each series for FillClass; series
// beyond its end use their own number.
double LegendHeight(const std::vector<std::string>& names, double width);
void DrawLegend(Svg* svg, const std::vector<std::string>& names,
                const std::vector<int>& colors, double left, double top,
                double width);
int ColorOf(const std::vector<int>& colors, size_t series);

// CSS classes: "f3" and "k3" for series 3. They repeat after kSeriesColors.
std::string FillClass(int series);
std::string StrokeClass(int series);

// Draws a horizontal whisker from x1 to x2 at height y.
void DrawWhisker(Svg* svg, double x1, double x2, double y, double cap);

}  // namespace feedrate
