#include "lib/draw/forest_plot.h"

#include <algorithm>
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

constexpr double kRow = 20;
constexpr double kMaxLabel = 180;
constexpr double kMark = 4;
constexpr double kRoomForNumbers = 480;
// The axis reaches at least this far from 1 on both sides.
constexpr double kLeastReach = 1.25;

// On a narrow figure the whiskers have to do without numbers.
std::string RatioText(const Estimate& ratio, double width) {
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
      text_width = std::max(text_width,
                            TextWidth(RatioText(row.ratio, plot.width), 10.5));
    }
  }
  const double label =
      LabelWidth(labels, std::min(kMaxLabel, plot.width * 0.35));
  Area area;
  area.left = 8 + label + 12;
  area.right = plot.width - text_width - 22;
  area.top = 26;
  area.bottom = area.top + kRow * plot.rows.size() + 6;
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
  double y = area.top + kRow / 2 + 3;
  for (const ForestRow& row : plot.rows) {
    if (row.is_heading) {
      svg.Text(8, y + 4, TextToFit(row.label, 12.5, plot.width),
               Svg::Anchor::kStart, "h");
    } else {
      svg.BeginGroup("row", row.hover);
      svg.Text(area.left - 10, y + 4, TextToFit(row.label, 11.5, label + 2),
               Svg::Anchor::kEnd, row.is_summary ? "h" : "l");
      DrawMark(&svg, scale, row, y);
      svg.Text(plot.width - 8, y + 4, RatioText(row.ratio, plot.width),
               Svg::Anchor::kEnd, "t");
      svg.EndGroup();
    }
    y += kRow;
  }
  return svg;
}

}  // namespace feedrate
