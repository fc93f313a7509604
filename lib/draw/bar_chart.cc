#include "lib/draw/bar_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lib/draw/axes.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"
#include "lib/draw/text_width.h"

namespace feedrate {
namespace {

constexpr double kBar = 13;
constexpr double kBarGap = 2;
constexpr double kGroupGap = 9;
constexpr double kMaxLabel = 180;
// A log axis starts this much below the smallest bar, so that it shows too.
constexpr double kLogRoom = 2;

double GroupHeight(const BarGroup& group) {
  int bars = 0;
  for (const auto& bar : group.bars) bars += bar.has_value() ? 1 : 0;
  return std::max(1, bars) * (kBar + kBarGap) + kGroupGap;
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
  double rows = 0;
  for (const BarGroup& group : chart.groups) {
    names.push_back(group.name);
    rows += GroupHeight(group);
  }
  const double label =
      LabelWidth(names, std::min(kMaxLabel, chart.width * 0.4));
  const bool has_legend = chart.series.size() > 1;
  const double legend =
      has_legend ? LegendHeight(chart.series, chart.width - 16) + 4 : 0;
  Area area;
  area.left = 8 + label + 10;
  area.top = 8 + legend;
  area.right = chart.width - TextRoom(chart);
  area.bottom = area.top + rows;
  Svg svg(chart.width, area.bottom + kXAxisHeight, chart.title);
  if (has_legend)
    DrawLegend(&svg, chart.series, chart.colors, 8, 6, chart.width - 16);
  Scale scale = ScaleOf(chart);
  scale.SetRange(area.left, area.right);

  double y = area.top;
  for (size_t i = 1; i < chart.groups.size(); i += 2) {
    double above = area.top;
    for (size_t j = 0; j < i; ++j) above += GroupHeight(chart.groups[j]);
    svg.Rect(0, above, chart.width, GroupHeight(chart.groups[i]), "stripe");
  }
  DrawXAxis(&svg, scale, area, chart.axis_title);
  for (const BarGroup& group : chart.groups) {
    const double height = GroupHeight(group);
    svg.Text(area.left - 8, y + height / 2 + 4,
             TextToFit(group.name, 11.5, label + 2), Svg::Anchor::kEnd, "l");
    double bar_y = y + kGroupGap / 2 + kBarGap / 2;
    for (size_t i = 0; i < group.bars.size(); ++i) {
      if (!group.bars[i].has_value()) continue;
      DrawBar(&svg, scale, area, *group.bars[i], ColorOf(chart.colors, i),
              bar_y);
      bar_y += kBar + kBarGap;
    }
    y += height;
  }
  return svg;
}

}  // namespace feedrate
