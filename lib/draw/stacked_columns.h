// How the parts of a whole change: a column for each moment, its shares
// stacked.
#ifndef FEEDRATE_LIB_DRAW_STACKED_COLUMNS_H_
#define FEEDRATE_LIB_DRAW_STACKED_COLUMNS_H_

#include <string>
#include <vector>

#include "lib/draw/svg.h"

namespace feedrate {

struct StackedColumn {
  // Below it. Left out where there is no room, or when it is empty.
  std::string label;
  // What the pointer is told first, such as "batches 10 to 19".
  std::string name;
  // One for each part, none below 0; drawn as shares of their sum.
  std::vector<double> values;
  // Drawn in the panel below.
  double below = 0;
  // There is a gap before it.
  bool starts_group = false;
};

struct StackedColumns {
  std::string title;
  std::string x_title;
  std::vector<std::string> parts;
  // Colour of each part; see DrawLegend. Empty: in their order.
  std::vector<int> colors;
  std::vector<StackedColumn> columns;
  // What the shares should be: a column of its own to the right, under this
  // heading. Empty: there is none.
  std::vector<double> wanted;
  std::string wanted_label;
  // A dashed line before this column, such as the end of a warm-up. 0: none.
  size_t mark = 0;
  // Title of a panel with each column's `below`. Empty: no panel.
  std::string below_title;
  double width = 820;
};

Svg DrawStackedColumns(const StackedColumns& chart);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_STACKED_COLUMNS_H_
