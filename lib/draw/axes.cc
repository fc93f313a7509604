#include "lib/draw/axes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/draw/palette.h"
#include "lib/draw/scale.h"
#include "lib/draw/svg.h"
#include "lib/draw/text_width.h"

namespace feedrate {
namespace {

constexpr double kLabelSize = 11.5;
constexpr double kTickSize = 10.5;
constexpr double kSwatch = 11;
constexpr double kLegendLine = 20;
// One tick for so many pixels.
constexpr double kPixelsPerTick = 72;

// Calls `place` with series, left and line of each legend entry; returns the
// number of lines.
template <typename Place>
int LayOutLegend(const std::vector<std::string>& names, double width,
                 const Place& place) {
  double x = 0;
  int line = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const double own = kSwatch + 6 + TextWidth(names[i], kLabelSize) + 16;
    if (x > 0 && x + own - 16 > width) {
      x = 0;
      ++line;
    }
    place(static_cast<int>(i), x, line);
    x += own;
  }
  return line + 1;
}

}  // namespace

void DrawXAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title) {
  const int wanted =
      std::max(2, static_cast<int>((area.right - area.left) / kPixelsPerTick));
  double free_from = -1e9;
  for (const Tick& tick : scale.Ticks(wanted)) {
    const double x = scale.Map(tick.value);
    if (tick.label.empty()) {
      svg->Line(x, area.bottom, x, area.bottom + 3, "axis");
      continue;
    }
    svg->Line(x, area.top, x, area.bottom, "grid");
    const double half = TextWidth(tick.label, kTickSize) / 2;
    if (x - half < free_from) continue;
    svg->Text(x, area.bottom + 15, tick.label, Svg::Anchor::kMiddle, "t");
    free_from = x + half + 4;
  }
  svg->Line(area.left, area.bottom, area.right, area.bottom, "axis");
  svg->Text((area.left + area.right) / 2, area.bottom + 32, title,
            Svg::Anchor::kMiddle, "t");
}

void DrawYAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title) {
  double widest = 0;
  for (const Tick& tick : scale.Ticks(5)) {
    const double y = scale.Map(tick.value);
    if (tick.label.empty()) continue;
    svg->Line(area.left, y, area.right, y, "grid");
    svg->Text(area.left - 6, y + 3.5, tick.label, Svg::Anchor::kEnd, "t");
    widest = std::max(widest, TextWidth(tick.label, kTickSize));
  }
  svg->Text(area.left - widest - 16, (area.top + area.bottom) / 2, title,
            Svg::Anchor::kMiddle, "t", -90);
}

double LabelWidth(const std::vector<std::string>& labels, double limit) {
  double width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, TextWidth(label, kLabelSize));
  }
  return std::min(width, limit);
}

double LegendHeight(const std::vector<std::string>& names, double width) {
  if (names.empty()) return 0;
  return kLegendLine * LayOutLegend(names, width, [](int, double, int) {});
}

void DrawLegend(Svg* svg, const std::vector<std::string>& names,
                const std::vector<int>& colors, double left, double top,
                double width) {
  LayOutLegend(names, width, [&](int series, double x, int line) {
    const double y = top + line * kLegendLine;
    svg->Rect(left + x, y, kSwatch, kSwatch,
              FillClass(ColorOf(colors, series)));
    svg->Text(left + x + kSwatch + 6, y + kSwatch - 1.5, names[series],
              Svg::Anchor::kStart, "l");
  });
}

int ColorOf(const std::vector<int>& colors, size_t series) {
  return series < colors.size() ? colors[series] : static_cast<int>(series);
}

std::string FillClass(int series) {
  return absl::StrCat("f", series % kSeriesColors);
}

std::string StrokeClass(int series) {
  return absl::StrCat("k", series % kSeriesColors);
}

void DrawWhisker(Svg* svg, double x1, double x2, double y, double cap) {
  PathData data;
  data.MoveTo(x1, y).LineTo(x2, y);
  data.MoveTo(x1, y - cap).LineTo(x1, y + cap);
  data.MoveTo(x2, y - cap).LineTo(x2, y + cap);
  svg->Path(data.text(), "whisker");
}

}  // namespace feedrate
