// Every single value as a dot, with a box behind them: the noise, not hidden.
#ifndef FEEDRATE_LIB_DRAW_STRIP_PLOT_H_
#define FEEDRATE_LIB_DRAW_STRIP_PLOT_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"

namespace feedrate {

// Quartiles, from whoever computed them.
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
  // Colour. Absent: its place.
  absl::optional<int> series = absl::nullopt;
};

struct StripPlot {
  std::string title;
  std::string axis_title;
  std::vector<StripRow> rows;
  ScaleType scale = ScaleType::kLinear;
  // True: the axis takes in 0.
  bool from_zero = true;
  // A line across all rows, such as a limit.
  absl::optional<double> reference;
  double width = 760;
};

// Dots are spread in height by a fixed pattern, so that equal values stay
// visible and the picture is the same each time.
Svg DrawStripPlot(const StripPlot& plot);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_STRIP_PLOT_H_
