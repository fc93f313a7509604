// What charts have in common: axes, grid, legend.
#ifndef FEEDRATE_LIB_DRAW_AXES_H_
#define FEEDRATE_LIB_DRAW_AXES_H_

#include <string>
#include <vector>

#include "lib/draw/scale.h"
#include "lib/draw/svg.h"

namespace feedrate {

// The area of a chart inside its axes.
struct Area {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

// Height that DrawXAxis takes below the area.
inline constexpr double kXAxisHeight = 38;

// Grid lines through the area, numbers below it, `title` below them. `scale`
// has the area's left and right as its range.
void DrawXAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title);
// The same with numbers to the left; `title` stands upright beside them.
void DrawYAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title);

// Width that a column of labels needs, at most `limit`.
double LabelWidth(const std::vector<std::string>& labels, double limit);

// Swatches and names of series in as many lines as `width` needs. `colors` are
// their numbers for FillClass; where it is too short a series has its own.
double LegendHeight(const std::vector<std::string>& names, double width);
void DrawLegend(Svg* svg, const std::vector<std::string>& names,
                const std::vector<int>& colors, double left, double top,
                double width);
int ColorOf(const std::vector<int>& colors, size_t series);

// "f3" and "k3" for series 3; they repeat after kSeriesColors.
std::string FillClass(int series);
std::string StrokeClass(int series);

// Whiskers from x1 to x2 at height y.
void DrawWhisker(Svg* svg, double x1, double x2, double y, double cap);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_AXES_H_
