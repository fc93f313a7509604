// What a whole is made of: the stages of a loader, the parts of a step.
#ifndef FEEDRATE_LIB_DRAW_STACKED_BARS_H_
#define FEEDRATE_LIB_DRAW_STACKED_BARS_H_

#include <string>
#include <vector>

#include "lib/draw/svg.h"

namespace feedrate {

struct StackedRow {
  std::string name;
  // One for each part, none below 0.
  std::vector<double> values;
  // To the right of the bar, such as the sum with its unit.
  std::string text;
};

struct StackedBars {
  std::string title;
  std::string axis_title;
  std::vector<std::string> parts;
  std::vector<StackedRow> rows;
  double width = 760;
};

Svg DrawStackedBars(const StackedBars& chart);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_STACKED_BARS_H_
