#include "lib/draw/stacked_columns.h"

#include <algorithm>
#include <numeric>
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
constexpr double kHeight = 220;
constexpr double kPanel = 64;
// Between the two panels: room for labels of columns.
constexpr double kPanelGap = 30;
constexpr double kWantedWidth = 26;
// A gap between groups, in columns.
constexpr double kGroupGap = 1.2;

// Where columns stand.
class Places {
 public:
  Places(const StackedColumns& chart, const Area& area) {
    double units = 0;
    for (size_t i = 0; i < chart.columns.size(); ++i) {
      if (i > 0 && chart.columns[i].starts_group) units += kGroupGap;
      starts_.push_back(units);
      units += 1;
    }
    step_ = units > 0 ? (area.right - area.left) / units : 0;
    left_ = area.left;
  }
  double Left(size_t i) const { return left_ + starts_[i] * step_; }
  double Middle(size_t i) const { return Left(i) + step_ / 2; }
  // A hair less, so that wide columns can be told apart.
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
  const double legend_width = chart.width - kLeft - 8;
  const bool has_panel = !chart.below_title.empty();
  const double aside =
      chart.wanted.empty()
          ? 0
          : 12 + std::max(kWantedWidth, TextWidth(chart.wanted_label, 10.5));
  Area area;
  area.left = kLeft;
  area.top = 16 + LegendHeight(chart.parts, legend_width);
  area.right = chart.width - 12 - aside;
  area.bottom = area.top + kHeight;
  Area panel = area;
  panel.top = area.bottom + kPanelGap + 12;
  panel.bottom = panel.top + kPanel;
  const double end = has_panel ? panel.bottom : area.bottom + 18;
  Svg svg(chart.width, end + 22, chart.title);
  DrawLegend(&svg, chart.parts, chart.colors, kLeft, 6, legend_width);
  Scale percent(ScaleType::kLinear, 0, 100, /*from_zero=*/true);
  percent.SetRange(area.bottom, area.top);
  DrawYAxis(&svg, percent, area, "share of samples, %");
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

}  // namespace feedrate
