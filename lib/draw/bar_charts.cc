// Charts made of rectangles: bars, stacked columns, heat maps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/svg.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

constexpr double kBar = 13;
constexpr double kBarGap = 2;
constexpr double kGroupGap = 9;
constexpr double kMaxLabel = 180;
// A log axis starts at the smallest value divided by this, so that the smallest
// bar is visible.
constexpr double kLogRoom = 2;

double GroupHeight(const BarGroup& group, double label) {
  int bars = 0;
  for (const auto& bar : group.bars) bars += bar.has_value() ? 1 : 0;
  return std::max(label, std::max(1, bars) * (kBar + kBarGap)) + kGroupGap;
}

Scale ScaleOf(const BarChart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const BarGroup& group : chart.groups) {
    for (const auto& bar : group.bars) {
      if (!bar.has_value() || !bar->estimate.has_value()) continue;
      const Estimate& estimate = *bar->estimate;
      if (estimate.value > 0) low = std::min(low, estimate.value);
      high = std::max(high, estimate.value);
      if (estimate.whiskers.has_value()) {
        high = std::max(high, estimate.whiskers->high);
      }
    }
  }
  if (chart.scale == ScaleType::kLinear) {
    return Scale(ScaleType::kLinear, 0, high, /*from_zero=*/true);
  }
  return Scale(ScaleType::kLog, low / kLogRoom, high, /*from_zero=*/false);
}

double TextRoom(const BarChart& chart) {
  double width = 0;
  for (const BarGroup& group : chart.groups) {
    for (const auto& bar : group.bars) {
      if (bar.has_value() && bar->estimate.has_value()) {
        width = std::max(width, TextWidth(bar->text, 10));
      }
    }
  }
  return width + 12;
}

void DrawBar(Svg* svg, const Scale& scale, const Area& area, const Bar& bar,
             int series, double y) {
  svg->BeginGroup("bar", bar.hover);
  double end = area.left;
  if (bar.estimate.has_value()) {
    const Estimate& estimate = *bar.estimate;
    end = scale.Map(estimate.value);
    svg->Rect(area.left, y, std::max(1.0, end - area.left), kBar,
              FillClass(series));
    if (estimate.whiskers.has_value()) {
      const double high = scale.Map(estimate.whiskers->high);
      DrawWhisker(svg, scale.Map(estimate.whiskers->low), high, y + kBar / 2,
                  3);
      end = std::max(end, high);
    }
  } else {
    svg->Rect(area.left, y + 2, 3, kBar - 4, FillClass(series));
  }
  svg->Text(end + 6, y + kBar - 3, bar.text, Svg::Anchor::kStart, "v");
  svg->EndGroup();
}

}  // namespace

Svg DrawBarChart(const BarChart& chart) {
  std::vector<std::string> names;
  for (const BarGroup& group : chart.groups) names.push_back(group.name);
  const LabelColumn labels(names, std::min(kMaxLabel, chart.width * 0.4));
  std::vector<double> heights;
  for (size_t i = 0; i < chart.groups.size(); ++i) {
    heights.push_back(GroupHeight(chart.groups[i], labels.Height(i)));
  }
  const bool has_legend = chart.series.size() > 1;
  const double legend =
      has_legend ? LegendHeight(chart.series, chart.width - 16) + 4 : 0;
  Area area;
  area.left = 8 + labels.width() + 10;
  area.top = 8 + legend;
  area.right = chart.width - TextRoom(chart);
  area.bottom = area.top + std::accumulate(heights.begin(), heights.end(), 0.0);
  Svg svg(chart.width, area.bottom + kXAxisHeight, chart.title);
  if (has_legend)
    DrawLegend(&svg, chart.series, chart.colors, 8, 6, chart.width - 16);
  Scale scale = ScaleOf(chart);
  scale.SetRange(area.left, area.right);

  double y = area.top;
  double above = area.top;
  for (size_t i = 0; i < chart.groups.size(); ++i) {
    if (i % 2 == 1) svg.Rect(0, above, chart.width, heights[i], "stripe");
    above += heights[i];
  }
  DrawXAxis(&svg, scale, area, chart.axis_title);
  for (size_t g = 0; g < chart.groups.size(); ++g) {
    const BarGroup& group = chart.groups[g];
    labels.Draw(&svg, g, area.left - 8, y + heights[g] / 2);
    double bar_y = y + kGroupGap / 2 + kBarGap / 2;
    for (size_t i = 0; i < group.bars.size(); ++i) {
      if (!group.bars[i].has_value()) continue;
      DrawBar(&svg, scale, area, *group.bars[i], ColorOf(chart.colors, i),
              bar_y);
      bar_y += kBar + kBarGap;
    }
    y += heights[g];
  }
  return svg;
}

namespace {

constexpr double kHeight = 220;
constexpr double kPanel = 64;
// Space between the two panels, for the column labels.
constexpr double kPanelGap = 30;
constexpr double kWantedWidth = 26;
// Gap between groups, in columns.
constexpr double kColumnGroupGap = 1.2;

// Horizontal positions of the columns.
class Places {
 public:
  Places(const StackedColumns& chart, const Area& area) {
    double units = 0;
    for (size_t i = 0; i < chart.columns.size(); ++i) {
      if (i > 0 && chart.columns[i].starts_group) units += kColumnGroupGap;
      starts_.push_back(units);
      units += 1;
    }
    step_ = units > 0 ? (area.right - area.left) / units : 0;
    left_ = area.left;
  }
  double Left(size_t i) const { return left_ + starts_[i] * step_; }
  double Middle(size_t i) const { return Left(i) + step_ / 2; }
  // A little less than the step, so that wide columns stay separate.
  double width() const { return step_ > 6 ? step_ - 1 : step_; }

 private:
  std::vector<double> starts_;
  double step_ = 0;
  double left_ = 0;
};

void DrawShares(Svg* svg, const StackedColumns& chart, const std::string& name,
                const std::vector<double>& values, const Area& area, double x,
                double width) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (sum <= 0) return;
  double y = area.bottom;
  for (size_t i = 0; i < values.size() && i < chart.parts.size(); ++i) {
    const double share = values[i] / sum;
    const double height = share * (area.bottom - area.top);
    if (height <= 0) continue;
    y -= height;
    svg->BeginGroup("bar", absl::StrCat(name, ", ", chart.parts[i], ": ",
                                        PercentText(share)));
    svg->Rect(x, y, width, height, FillClass(ColorOf(chart.colors, i)));
    svg->EndGroup();
  }
}

void DrawLabels(Svg* svg, const StackedColumns& chart, const Places& places,
                const Area& area) {
  double free_from = -1e9;
  for (size_t i = 0; i < chart.columns.size(); ++i) {
    const std::string& label = chart.columns[i].label;
    const double half = TextWidth(label, 10.5) / 2;
    const double x = places.Middle(i);
    if (label.empty() || x - half < free_from) continue;
    svg->Text(x, area.bottom + 15, label, Svg::Anchor::kMiddle, "t");
    free_from = x + half + 8;
  }
}

void DrawPanel(Svg* svg, const StackedColumns& chart, const Places& places,
               const Area& area) {
  double high = 0;
  for (const StackedColumn& column : chart.columns) {
    high = std::max(high, column.below);
  }
  Scale scale(ScaleType::kLinear, 0, high, /*from_zero=*/true);
  scale.SetRange(area.bottom, area.top);
  for (const Tick& tick : scale.Ticks(2)) {
    if (tick.label.empty()) continue;
    const double y = scale.Map(tick.value);
    svg->Line(area.left, y, area.right, y, "grid");
    svg->Text(area.left - 6, y + 3.5, tick.label, Svg::Anchor::kEnd, "t");
  }
  for (size_t i = 0; i < chart.columns.size(); ++i) {
    const StackedColumn& column = chart.columns[i];
    const double top = scale.Map(column.below);
    if (area.bottom - top <= 0) continue;
    svg->BeginGroup("bar", absl::StrCat(column.name, ", ", chart.below_title,
                                        ": ", SignificantText(column.below)));
    svg->Rect(places.Left(i), top, places.width(), area.bottom - top, "f6");
    svg->EndGroup();
  }
  svg->Text(area.left, area.top - 6, chart.below_title, Svg::Anchor::kStart,
            "t");
}

void DrawWanted(Svg* svg, const StackedColumns& chart, const Area& area) {
  const double x = chart.width - 12 - kWantedWidth;
  DrawShares(svg, chart, chart.wanted_label, chart.wanted, area, x,
             kWantedWidth);
  svg->Text(x + kWantedWidth / 2, area.bottom + 15, chart.wanted_label,
            Svg::Anchor::kMiddle, "t");
}

}  // namespace

Svg DrawStackedColumns(const StackedColumns& chart) {
  const double legend_width = chart.width - kAxisLabels - 8;
  const bool has_panel = !chart.below_title.empty();
  const double aside =
      chart.wanted.empty()
          ? 0
          : 12 + std::max(kWantedWidth, TextWidth(chart.wanted_label, 10.5));
  Area area;
  area.left = kAxisLabels;
  area.top = 16 + LegendHeight(chart.parts, legend_width);
  area.right = chart.width - 12 - aside;
  area.bottom = area.top + kHeight;
  Area panel = area;
  panel.top = area.bottom + kPanelGap + 12;
  panel.bottom = panel.top + kPanel;
  const double end = has_panel ? panel.bottom : area.bottom + 18;
  Svg svg(chart.width, end + 22, chart.title);
  DrawLegend(&svg, chart.parts, chart.colors, kAxisLabels, 6, legend_width);
  Scale percent(ScaleType::kLinear, 0, 100, /*from_zero=*/true);
  percent.SetRange(area.bottom, area.top);
  DrawYAxis(&svg, percent, area, chart.y_title);
  const Places places(chart, area);
  for (size_t i = 0; i < chart.columns.size(); ++i) {
    const StackedColumn& column = chart.columns[i];
    DrawShares(&svg, chart, column.name, column.values, area, places.Left(i),
               places.width());
  }
  svg.Line(area.left, area.bottom, area.right, area.bottom, "axis");
  DrawLabels(&svg, chart, places, area);
  if (has_panel) DrawPanel(&svg, chart, places, panel);
  if (!chart.wanted.empty()) DrawWanted(&svg, chart, area);
  if (chart.mark > 0 && chart.mark < chart.columns.size()) {
    const double x = places.Left(chart.mark);
    svg.Line(x, area.top - 4, x, area.bottom + 4, "ref");
  }
  svg.Text((area.left + area.right) / 2, end + 16, chart.x_title,
           Svg::Anchor::kMiddle, "t");
  return svg;
}

namespace {

constexpr double kRow = 22;
constexpr double kMaxColumn = 130;
constexpr int kLegendSteps = 24;
constexpr double kSlant = 0.7;

void DrawScale(Svg* svg, const HeatMap& map, double left, double top) {
  svg->Text(left, top + 10, map.low_text, Svg::Anchor::kStart, "t");
  double x = left + TextWidth(map.low_text, 10.5) + 8;
  for (int i = 0; i < kLegendSteps; ++i) {
    svg->Rect(
        x, top, 5.2, 12, "",
        absl::StrCat("fill:", HeatColorOf(i / (kLegendSteps - 1.0)).fill));
    x += 5;
  }
  svg->Text(x + 8, top + 10, map.high_text, Svg::Anchor::kStart, "t");
}

void DrawCell(Svg* svg, const HeatCell& cell, double x, double y, double width,
              double height) {
  svg->BeginGroup("cell", cell.hover);
  std::string ink;
  if (cell.share.has_value()) {
    const HeatColor color = HeatColorOf(*cell.share);
    ink = absl::StrCat("fill:", color.ink);
    svg->Rect(x + 1, y + 1, width - 2, height - 2, "",
              absl::StrCat("fill:", color.fill));
  } else {
    svg->Rect(x + 1, y + 1, width - 2, height - 2, "none faint");
  }
  svg->Text(x + width / 2, y + height / 2 + 4,
            TextToFit(cell.text, 10.5, width - 6), Svg::Anchor::kMiddle,
            cell.share.has_value() ? "" : "t", 0, ink);
  svg->EndGroup();
}

}  // namespace

Svg DrawHeatMap(const HeatMap& map) {
  const LabelColumn labels(map.rows, std::min(kMaxLabel, map.width * 0.4));
  const double left = 8 + labels.width() + 8;
  std::vector<double> heights;
  for (size_t row = 0; row < map.rows.size(); ++row) {
    heights.push_back(std::max(kRow, labels.Height(row) + 6));
  }
  const double columns = std::max<double>(1, map.columns.size());
  double column = std::min(kMaxColumn, (map.width - left - 8) / columns);
  // Names that are wider than their column are slanted, and the last one needs
  // room to its right.
  const double widest = std::min(LabelWidth(map.columns), kMaxLabel);
  const bool slanted = widest > column - 4;
  if (slanted) {
    const double over = widest * std::cos(kSlant) - column / 2;
    column = std::min(column, (map.width - left - 8 - over) / columns);
  }
  const double top = slanted ? 40 + widest * std::sin(kSlant) : 52;
  const double rows = std::accumulate(heights.begin(), heights.end(), 0.0);
  Svg svg(map.width, top + rows + 8, map.title);
  DrawScale(&svg, map, 8, 6);
  for (size_t i = 0; i < map.columns.size(); ++i) {
    svg.Text(left + (i + 0.5) * column, top - 8,
             TextToFit(map.columns[i], 11.5, kMaxLabel),
             slanted ? Svg::Anchor::kStart : Svg::Anchor::kMiddle, "l",
             slanted ? -kSlant * 180 / M_PI : 0);
  }
  double y = top;
  for (size_t row = 0; row < map.rows.size(); ++row) {
    labels.Draw(&svg, row, left - 8, y + heights[row] / 2);
    for (size_t i = 0; i < map.cells[row].size(); ++i) {
      DrawCell(&svg, map.cells[row][i], left + i * column, y, column,
               heights[row]);
    }
    y += heights[row];
  }
  return svg;
}

}  // namespace feedrate
