#include "lib/draw/heat_map.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/draw/axes.h"
#include "lib/draw/palette.h"
#include "lib/draw/svg.h"
#include "lib/draw/text_width.h"

namespace feedrate {
namespace {

constexpr double kRow = 22;
constexpr double kMaxColumn = 130;
constexpr double kMaxLabel = 180;
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

void DrawCell(Svg* svg, const HeatCell& cell, double x, double y,
              double width) {
  svg->BeginGroup("cell", cell.hover);
  std::string ink;
  if (cell.share.has_value()) {
    const HeatColor color = HeatColorOf(*cell.share);
    ink = absl::StrCat("fill:", color.ink);
    svg->Rect(x + 1, y + 1, width - 2, kRow - 2, "",
              absl::StrCat("fill:", color.fill));
  } else {
    svg->Rect(x + 1, y + 1, width - 2, kRow - 2, "none faint");
  }
  svg->Text(x + width / 2, y + kRow / 2 + 4,
            TextToFit(cell.text, 10.5, width - 6), Svg::Anchor::kMiddle,
            cell.share.has_value() ? "" : "t", 0, ink);
  svg->EndGroup();
}

}  // namespace

Svg DrawHeatMap(const HeatMap& map) {
  const double label =
      LabelWidth(map.rows, std::min(kMaxLabel, map.width * 0.4));
  const double left = 8 + label + 8;
  const double column =
      map.columns.empty()
          ? kMaxColumn
          : std::min(kMaxColumn, (map.width - left - 8) / map.columns.size());
  // Names that are wider than their column stand at a slant.
  const double widest = LabelWidth(map.columns, kMaxLabel);
  const bool slanted = widest > column - 4;
  const double top = slanted ? 40 + widest * std::sin(kSlant) : 52;
  Svg svg(map.width, top + kRow * map.rows.size() + 8, map.title);
  DrawScale(&svg, map, 8, 6);
  for (size_t i = 0; i < map.columns.size(); ++i) {
    svg.Text(left + (i + 0.5) * column, top - 8,
             TextToFit(map.columns[i], 11.5, kMaxLabel),
             slanted ? Svg::Anchor::kStart : Svg::Anchor::kMiddle, "l",
             slanted ? -kSlant * 180 / M_PI : 0);
  }
  for (size_t row = 0; row < map.rows.size(); ++row) {
    const double y = top + row * kRow;
    svg.Text(left - 8, y + kRow / 2 + 4,
             TextToFit(map.rows[row], 11.5, label + 2), Svg::Anchor::kEnd, "l");
    for (size_t i = 0; i < map.cells[row].size(); ++i) {
      DrawCell(&svg, map.cells[row][i], left + i * column, y, column);
    }
  }
  return svg;
}

}  // namespace feedrate
