#include "lib/draw/line_chart.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/draw/axes.h"
#include "lib/draw/number_text.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"
#include "lib/draw/text_width.h"

namespace feedrate {
namespace {

constexpr double kLeft = 62;
constexpr double kInset = 14;

Scale YScaleOf(const LineChart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const LineSeries& series : chart.series) {
    for (const LinePoint& point : series.points) {
      const Whiskers ends =
          point.y.whiskers.value_or(Whiskers{point.y.value, point.y.value});
      if (ends.low > 0) low = std::min(low, ends.low);
      high = std::max({high, ends.high, point.y.value});
    }
  }
  const bool linear = chart.y_scale == ScaleType::kLinear;
  return Scale(chart.y_scale, linear ? 0 : low, high, linear);
}

void DrawXValues(Svg* svg, const Scale& scale, const Area& area,
                 const std::set<double>& values, const std::string& title) {
  double free_from = -1e9;
  for (const double value : values) {
    const double x = scale.Map(value);
    svg->Line(x, area.bottom, x, area.bottom + 4, "axis");
    const std::string label = ShortNumberText(value);
    const double half = TextWidth(label, 10.5) / 2;
    if (x - half < free_from) continue;
    svg->Text(x, area.bottom + 17, label, Svg::Anchor::kMiddle, "t");
    free_from = x + half + 4;
  }
  svg->Line(area.left, area.bottom, area.right, area.bottom, "axis");
  svg->Text((area.left + area.right) / 2, area.bottom + 33, title,
            Svg::Anchor::kMiddle, "t");
}

void DrawBand(Svg* svg, const LineSeries& series, const Scale& x,
              const Scale& y, int number) {
  PathData band;
  std::vector<const LinePoint*> known;
  for (const LinePoint& point : series.points) {
    if (point.y.whiskers.has_value()) known.push_back(&point);
  }
  if (known.size() < 2) return;
  for (size_t i = 0; i < known.size(); ++i) {
    const double px = x.Map(known[i]->x);
    const double py = y.Map(known[i]->y.whiskers->high);
    i == 0 ? band.MoveTo(px, py) : band.LineTo(px, py);
  }
  for (auto point = known.rbegin(); point != known.rend(); ++point) {
    band.LineTo(x.Map((*point)->x), y.Map((*point)->y.whiskers->low));
  }
  svg->Path(band.Close().text(), absl::StrCat("band ", FillClass(number)));
}

void DrawSeries(Svg* svg, const LineSeries& series, const Scale& x,
                const Scale& y, int number) {
  DrawBand(svg, series, x, y, number);
  PathData line;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const double px = x.Map(series.points[i].x);
    const double py = y.Map(series.points[i].y.value);
    i == 0 ? line.MoveTo(px, py) : line.LineTo(px, py);
  }
  svg->Path(line.text(), absl::StrCat("line ", StrokeClass(number)));
  for (const LinePoint& point : series.points) {
    svg->BeginGroup("point", point.hover);
    svg->Circle(x.Map(point.x), y.Map(point.y.value), 4,
                absl::StrCat("dot ", FillClass(number)));
    svg->EndGroup();
  }
}

}  // namespace

Svg DrawLineChart(const LineChart& chart) {
  std::vector<std::string> names;
  std::set<double> values;
  for (const LineSeries& series : chart.series) {
    names.push_back(series.name);
    for (const LinePoint& point : series.points) values.insert(point.x);
  }
  const double legend_width = chart.width - kLeft - 8;
  const double legend = LegendHeight(names, legend_width);
  Area area;
  area.left = kLeft;
  area.top = 12 + legend;
  area.right = chart.width - 12;
  area.bottom = chart.height - kXAxisHeight;
  Svg svg(chart.width, chart.height, chart.title);
  DrawLegend(&svg, names, chart.colors, kLeft, 6, legend_width);
  Scale y = YScaleOf(chart);
  y.SetRange(area.bottom, area.top);
  DrawYAxis(&svg, y, area, chart.y_title);
  const double low = values.empty() ? 0 : *values.begin();
  const double high = values.empty() ? 1 : *values.rbegin();
  // Doubling sweeps from 1 on, such as 1 2 4 … 256, need a log axis.
  const bool wide = low > 0 && high / low > 16;
  Scale x(wide ? ScaleType::kLog : ScaleType::kLinear, low, high, false);
  x.SetRange(area.left + kInset, area.right - kInset);
  DrawXValues(&svg, x, area, values, chart.x_title);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    DrawSeries(&svg, chart.series[i], x, y, ColorOf(chart.colors, i));
  }
  return svg;
}

}  // namespace feedrate
