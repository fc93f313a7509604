// Ratios with their intervals, one under the other, around the line of no
// difference.
#ifndef FEEDRATE_LIB_DRAW_FOREST_PLOT_H_
#define FEEDRATE_LIB_DRAW_FOREST_PLOT_H_

#include <string>
#include <vector>

#include "lib/draw/estimate.h"
#include "lib/draw/svg.h"

namespace feedrate {

struct ForestRow {
  std::string label;
  Estimate ratio;
  // Colour.
  int series = 0;
  // True: a summary of the rows, drawn as a diamond.
  bool is_summary = false;
  // True: a heading; `ratio` is not drawn.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_FOREST_PLOT_H_
