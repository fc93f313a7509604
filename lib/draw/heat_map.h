// A table in colours: where a library is fast and where it is not.
#ifndef FEEDRATE_LIB_DRAW_HEAT_MAP_H_
#define FEEDRATE_LIB_DRAW_HEAT_MAP_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/svg.h"

namespace feedrate {

struct HeatCell {
  // 0 (dark) to 1 (bright). Absent: nothing was measured.
  absl::optional<double> share;
  std::string text;
  std::string hover;
};

struct HeatMap {
  std::string title;
  // What the colours mean at 0 and at 1.
  std::string low_text;
  std::string high_text;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  // cells[row][column].
  std::vector<std::vector<HeatCell>> cells;
  double width = 760;
};

Svg DrawHeatMap(const HeatMap& map);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_HEAT_MAP_H_
