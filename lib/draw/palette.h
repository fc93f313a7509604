// Colours that every reader can tell apart, on white and on dark.
#ifndef FEEDRATE_LIB_DRAW_PALETTE_H_
#define FEEDRATE_LIB_DRAW_PALETTE_H_

#include <string>

namespace feedrate {

// Colours of series: the palette of Okabe and Ito, which people with any
// common colour blindness can tell apart. Its black is a grey here, and its
// yellow, which white paper swallows, comes last.
inline constexpr int kSeriesColors = 8;

// What a chart is drawn on.
enum class Theme { kLight, kDark };

// Replaces $ink, $muted, $grid, $paper and $s0 … $s7 in `css` by the colours
// of `theme`, or by var(--ink) and so on for a page that defines them.
std::string WithColors(const std::string& css, Theme theme);
std::string WithVariables(const std::string& css);

// `--ink:#1a1a1a;…`: the definitions that WithVariables refers to.
std::string ColorVariables(Theme theme);

// A fill for `share` in [0, 1] and the ink that is legible on it; the scale
// is cividis, even in lightness and safe for colour blindness.
struct HeatColor {
  std::string fill;
  std::string ink;
};
HeatColor HeatColorOf(double share);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_PALETTE_H_
