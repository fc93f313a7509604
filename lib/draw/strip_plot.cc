#include "lib/draw/strip_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/draw/axes.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"
#include "lib/draw/text_width.h"

namespace feedrate {
namespace {

constexpr double kRow = 34;
constexpr double kSpread = 16;
constexpr double kMaxLabel = 200;
// Multiples of the golden ratio fill an interval evenly in any number.
constexpr double kGolden = 0.6180339887498949;

void DrawRow(Svg* svg, const StripRow& row, int series, const Scale& scale,
             double middle) {
  svg->BeginGroup("row", row.hover);
  if (row.box.has_value()) {
    const double low = scale.Map(row.box->low);
    svg->Rect(low, middle - kSpread / 2 - 3,
              std::max(1.0, scale.Map(row.box->high) - low), kSpread + 6,
              absl::StrCat("band ", FillClass(series)));
  }
  for (size_t i = 0; i < row.values.size(); ++i) {
    const double place = std::fmod((i + 1) * kGolden, 1.0) - 0.5;
    svg->Circle(scale.Map(row.values[i]), middle + place * kSpread, 2.6,
                absl::StrCat("faint ", FillClass(series)));
  }
  if (row.box.has_value()) {
    const double x = scale.Map(row.box->middle);
    svg->Line(x, middle - kSpread / 2 - 4, x, middle + kSpread / 2 + 4,
              "whisker");
  }
  svg->EndGroup();
}

}  // namespace

Svg DrawStripPlot(const StripPlot& plot) {
  std::vector<std::string> names;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  if (plot.reference.has_value()) low = high = *plot.reference;
  for (const StripRow& row : plot.rows) {
    names.push_back(row.name);
    for (const double value : row.values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double label = LabelWidth(names, std::min(kMaxLabel, plot.width * 0.4));
  Area area;
  area.left = 8 + label + 12;
  area.top = 8;
  area.right = plot.width - 20;
  area.bottom = area.top + kRow * plot.rows.size() + 2;
  Svg svg(plot.width, area.bottom + kXAxisHeight, plot.title);
  Scale scale(plot.scale, low, high, plot.from_zero);
  scale.SetRange(area.left, area.right);
  DrawXAxis(&svg, scale, area, plot.axis_title);
  if (plot.reference.has_value()) {
    const double x = scale.Map(*plot.reference);
    svg.Line(x, area.top, x, area.bottom, "ref");
  }
  for (size_t i = 0; i < plot.rows.size(); ++i) {
    const double middle = area.top + (i + 0.5) * kRow;
    svg.Text(area.left - 10, middle + 4,
             TextToFit(plot.rows[i].name, 11.5, label + 2), Svg::Anchor::kEnd,
             "l");
    DrawRow(&svg, plot.rows[i],
            plot.rows[i].series.value_or(static_cast<int>(i)), scale, middle);
  }
  return svg;
}

}  // namespace feedrate
