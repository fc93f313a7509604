#include "lib/draw/stacked_bars.h"

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

constexpr double kRow = 26;
constexpr double kBar = 17;
constexpr double kMaxLabel = 200;

double SumOf(const StackedRow& row) {
  return std::accumulate(row.values.begin(), row.values.end(), 0.0);
}

void DrawRow(Svg* svg, const StackedBars& chart, const StackedRow& row,
             const Scale& scale, double y) {
  const double sum = SumOf(row);
  double before = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const double start = scale.Map(before);
    before += row.values[i];
    const double width = scale.Map(before) - start;
    if (width <= 0) continue;
    svg->BeginGroup("bar", absl::StrCat(row.name, ", ", chart.parts[i], ": ",
                                        SignificantText(row.values[i]), " (",
                                        PercentText(row.values[i] / sum), ")"));
    svg->Rect(start, y, width, kBar,
              absl::StrCat("dot ", FillClass(static_cast<int>(i))));
    svg->EndGroup();
  }
  svg->Text(scale.Map(before) + 6, y + kBar - 5, row.text, Svg::Anchor::kStart,
            "v");
}

}  // namespace

Svg DrawStackedBars(const StackedBars& chart) {
  std::vector<std::string> names;
  double high = 0;
  double text = 0;
  for (const StackedRow& row : chart.rows) {
    names.push_back(row.name);
    high = std::max(high, SumOf(row));
    text = std::max(text, TextWidth(row.text, 10));
  }
  const double label =
      LabelWidth(names, std::min(kMaxLabel, chart.width * 0.4));
  Area area;
  area.left = 8 + label + 10;
  area.top = 12 + LegendHeight(chart.parts, chart.width - 16);
  area.right = chart.width - text - 16;
  area.bottom = area.top + kRow * chart.rows.size();
  Svg svg(chart.width, area.bottom + kXAxisHeight, chart.title);
  DrawLegend(&svg, chart.parts, {}, 8, 6, chart.width - 16);
  Scale scale(ScaleType::kLinear, 0, high, /*from_zero=*/true);
  scale.SetRange(area.left, area.right);
  DrawXAxis(&svg, scale, area, chart.axis_title);
  for (size_t i = 0; i < chart.rows.size(); ++i) {
    const double y = area.top + i * kRow + (kRow - kBar) / 2;
    svg.Text(area.left - 8, y + kBar - 5,
             TextToFit(chart.rows[i].name, 11.5, label + 2), Svg::Anchor::kEnd,
             "l");
    DrawRow(&svg, chart, chart.rows[i], scale, y);
  }
  return svg;
}

}  // namespace feedrate
