// Bars with intervals: how fast each library does each transform.
#ifndef FEEDRATE_LIB_DRAW_BAR_CHART_H_
#define FEEDRATE_LIB_DRAW_BAR_CHART_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/estimate.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"

namespace feedrate {

struct Bar {
  // Absent: no bar, `text` alone says why.
  absl::optional<Estimate> estimate;
  // Beside the bar, such as "1,234".
  std::string text;
  // The whole story, shown over the bar.
  std::string hover;
};

struct BarGroup {
  std::string name;
  // One for each series. Absent: the series has nothing here.
  std::vector<absl::optional<Bar>> bars;
};

struct BarChart {
  std::string title;
  // Of the horizontal axis, with the unit.
  std::string axis_title;
  std::vector<std::string> series;
  // Colour of each series; see DrawLegend. Empty: in their order.
  std::vector<int> colors;
  std::vector<BarGroup> groups;
  ScaleType scale = ScaleType::kLinear;
  double width = 760;
};

// Horizontal bars, so that long names stay legible; groups from the top.
Svg DrawBarChart(const BarChart& chart);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_BAR_CHART_H_
