// Curves with bands: how a number grows with another.
#ifndef FEEDRATE_LIB_DRAW_LINE_CHART_H_
#define FEEDRATE_LIB_DRAW_LINE_CHART_H_

#include <string>
#include <vector>

#include "lib/draw/estimate.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"

namespace feedrate {

struct LinePoint {
  double x = 0;
  Estimate y;
  std::string hover;
};

struct LineSeries {
  std::string name;
  // By rising x.
  std::vector<LinePoint> points;
};

struct LineChart {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<LineSeries> series;
  // Colour of each series; see DrawLegend. Empty: in their order.
  std::vector<int> colors;
  ScaleType y_scale = ScaleType::kLinear;
  double width = 560;
  double height = 300;
};

// Ticks of the horizontal axis stand at the values that were measured.
Svg DrawLineChart(const LineChart& chart);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_LINE_CHART_H_
