// Charts made of points and lines: line charts, forest plots, strip plots.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/svg.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

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
  const bool from_zero = chart.from_zero && chart.y_scale == ScaleType::kLinear;
  return Scale(chart.y_scale, from_zero ? 0 : low, high, from_zero);
}

void DrawXValues(Svg* svg, const Scale& scale, const Area& area,
                 const std::set<double>& values, const LineChart& chart) {
  double free_from = -1e9;
  for (const double value : values) {
    const double x = scale.Map(value);
    svg->Line(x, area.bottom, x, area.bottom + 4, "axis");
    const std::string label = chart.x_names.empty()
                                  ? ShortNumberText(value)
                                  : chart.x_names.at(std::lround(value));
    const double half = TextWidth(label, 10.5) / 2;
    if (x - half < free_from || x + half > chart.width) continue;
    svg->Text(x, area.bottom + 17, label, Svg::Anchor::kMiddle, "t");
    free_from = x + half + 4;
  }
  svg->Line(area.left, area.bottom, area.right, area.bottom, "axis");
  svg->Text((area.left + area.right) / 2, area.bottom + 33, chart.x_title,
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
    if (!series.name.empty()) names.push_back(series.name);
    for (const LinePoint& point : series.points) values.insert(point.x);
  }
  const double legend_width = chart.width - kAxisLabels - 8;
  const double legend = LegendHeight(names, legend_width);
  Area area;
  area.left = kAxisLabels;
  area.top = 12 + legend;
  area.right = chart.width - 12;
  area.bottom = chart.height - kXAxisHeight;
  Svg svg(chart.width, chart.height, chart.title);
  DrawLegend(&svg, names, chart.colors, kAxisLabels, 6, legend_width);
  Scale y = YScaleOf(chart);
  y.SetRange(area.bottom, area.top);
  DrawYAxis(&svg, y, area, chart.y_title);
  const double low = values.empty() ? 0 : *values.begin();
  const double high = values.empty() ? 1 : *values.rbegin();
  // Sweeps that double, such as 1 2 4 … 256, need a log axis.
  const bool wide = low > 0 && high / low > 16 && chart.x_names.empty();
  Scale x(wide ? ScaleType::kLog : ScaleType::kLinear, low, high, false);
  x.SetRange(area.left + kInset, area.right - kInset);
  DrawXValues(&svg, x, area, values, chart);
  for (const double mark : chart.marks) {
    svg.Line(x.Map(mark), area.top, x.Map(mark), area.bottom, "ref");
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    DrawSeries(&svg, chart.series[i], x, y, ColorOf(chart.colors, i));
  }
  return svg;
}

namespace {

constexpr double kForestRow = 20;
constexpr double kForestLabel = 180;
constexpr double kMark = 4;
constexpr double kRoomForNumbers = 480;
// The axis reaches at least this far from 1 on both sides.
constexpr double kLeastReach = 1.25;

// Narrow figures leave out the numbers of the whiskers.
std::string RatioText(const ForestRow& row, double width) {
  if (!row.text.empty()) return row.text;
  const Estimate& ratio = row.ratio;
  std::string text = absl::StrCat(SignificantText(ratio.value), "×");
  if (ratio.whiskers.has_value() && width >= kRoomForNumbers) {
    absl::StrAppend(&text, " [", SignificantText(ratio.whiskers->low), ", ",
                    SignificantText(ratio.whiskers->high), "]");
  }
  return text;
}

Scale ScaleOf(const ForestPlot& plot) {
  double low = 1 / kLeastReach;
  double high = kLeastReach;
  for (const ForestRow& row : plot.rows) {
    if (row.is_heading || row.ratio.value <= 0) continue;
    const Whiskers ends =
        row.ratio.whiskers.value_or(Whiskers{row.ratio.value, row.ratio.value});
    low = std::min({low, row.ratio.value, ends.low > 0 ? ends.low : low});
    high = std::max({high, row.ratio.value, ends.high});
  }
  return Scale(ScaleType::kLog, low / 1.05, high * 1.05, false);
}

void DrawMark(Svg* svg, const Scale& scale, const ForestRow& row, double y) {
  const double x = scale.Map(row.ratio.value);
  if (row.is_summary) {
    const Whiskers ends =
        row.ratio.whiskers.value_or(Whiskers{row.ratio.value, row.ratio.value});
    PathData diamond;
    diamond.MoveTo(std::min(scale.Map(ends.low), x - kMark), y)
        .LineTo(x, y - kMark - 2)
        .LineTo(std::max(scale.Map(ends.high), x + kMark), y)
        .LineTo(x, y + kMark + 2)
        .Close();
    svg->Path(diamond.text(), FillClass(row.series));
    return;
  }
  if (row.ratio.whiskers.has_value()) {
    DrawWhisker(svg, scale.Map(row.ratio.whiskers->low),
                scale.Map(row.ratio.whiskers->high), y, 3);
  }
  svg->Rect(x - kMark, y - kMark, 2 * kMark, 2 * kMark,
            absl::StrCat("dot ", FillClass(row.series)));
}

}  // namespace

Svg DrawForestPlot(const ForestPlot& plot) {
  std::vector<std::string> labels;
  double text_width = 0;
  for (const ForestRow& row : plot.rows) {
    labels.push_back(row.label);
    if (!row.is_heading) {
      text_width =
          std::max(text_width, TextWidth(RatioText(row, plot.width), 10.5));
    }
  }
  const LabelColumn column(labels, std::min(kForestLabel, plot.width * 0.35));
  std::vector<double> heights;
  for (size_t i = 0; i < plot.rows.size(); ++i) {
    // A heading may take the whole width.
    heights.push_back(plot.rows[i].is_heading
                          ? kForestRow
                          : std::max(kForestRow, column.Height(i) + 4));
  }
  Area area;
  area.left = 8 + column.width() + 12;
  area.right = plot.width - text_width - 22;
  area.top = 26;
  area.bottom =
      area.top + std::accumulate(heights.begin(), heights.end(), 0.0) + 6;
  Svg svg(plot.width, area.bottom + kXAxisHeight, plot.title);
  Scale scale = ScaleOf(plot);
  scale.SetRange(area.left, area.right);
  DrawXAxis(&svg, scale, area, plot.axis_title);
  const double one = scale.Map(1);
  svg.Line(one, area.top - 6, one, area.bottom, "ref");
  svg.Text(one - 8, area.top - 9, absl::StrCat("← ", plot.below_text),
           Svg::Anchor::kEnd, "t");
  svg.Text(one + 8, area.top - 9, absl::StrCat(plot.above_text, " →"),
           Svg::Anchor::kStart, "t");
  double y = area.top + 3;
  for (size_t i = 0; i < plot.rows.size(); ++i) {
    const ForestRow& row = plot.rows[i];
    y += heights[i] / 2;
    if (row.is_heading) {
      svg.Text(8, y + 4, TextToFit(row.label, 12.5, plot.width),
               Svg::Anchor::kStart, "h");
    } else {
      svg.BeginGroup("row", row.hover);
      column.Draw(&svg, i, area.left - 10, y, row.is_summary ? "h" : "l");
      DrawMark(&svg, scale, row, y);
      svg.Text(plot.width - 8, y + 4, RatioText(row, plot.width),
               Svg::Anchor::kEnd, "t");
      svg.EndGroup();
    }
    y += heights[i] / 2;
  }
  return svg;
}

namespace {

constexpr double kStripRow = 34;
constexpr double kSpread = 16;
constexpr double kStripLabel = 200;
// Multiples of the golden ratio (modulo 1) fill an interval evenly, however
// many there are.
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
  const LabelColumn labels(names, std::min(kStripLabel, plot.width * 0.4));
  Area area;
  area.left = 8 + labels.width() + 12;
  area.top = 8;
  area.right = plot.width - 20;
  area.bottom = area.top + kStripRow * plot.rows.size() + 2;
  Svg svg(plot.width, area.bottom + kXAxisHeight, plot.title);
  Scale scale(plot.scale, low, high, plot.from_zero);
  scale.SetRange(area.left, area.right);
  DrawXAxis(&svg, scale, area, plot.axis_title);
  if (plot.reference.has_value()) {
    const double x = scale.Map(*plot.reference);
    svg.Line(x, area.top, x, area.bottom, "ref");
  }
  for (size_t i = 0; i < plot.rows.size(); ++i) {
    const double middle = area.top + (i + 0.5) * kStripRow;
    labels.Draw(&svg, i, area.left - 10, middle);
    DrawRow(&svg, plot.rows[i],
            plot.rows[i].series.value_or(static_cast<int>(i)), scale, middle);
  }
  return svg;
}

}  // namespace feedrate
