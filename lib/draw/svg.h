// SVG drawings, inline in a page or as files, with their colors and text
// widths.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// The style sheet for drawings, with $names for WithColors or WithVariables.
// Classes: t (tick text), l (label), v (value), h (heading), grid, axis, band,
// f0 … f7 (fill of a series), k0 … k7 (stroke of a series), whisker, ref (a
// reference line), none (hatched: nothing was measured).
std::string ChartCss();

// A drawing, filled from back to front. Coordinates are pixels at 96 dpi, y
// grows downwards. Shapes have classes, not colors: the page's style sheet sets
// the colors, so the same drawing works on light and dark pages.
class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };

  // `title` is for screen readers.
  Svg(double width, double height, std::string title);

  // Shapes drawn until EndGroup share a class. A non-empty `hover` is shown
  // when the pointer is over them.
  void BeginGroup(absl::string_view css_class, absl::string_view hover = "");
  void EndGroup();

  void Rect(double x, double y, double width, double height,
            absl::string_view css_class, absl::string_view style = "");
  void Line(double x1, double y1, double x2, double y2,
            absl::string_view css_class);
  void Circle(double x, double y, double radius, absl::string_view css_class);
  // `data` is an SVG path; see PathData.
  void Path(absl::string_view data, absl::string_view css_class);
  // `y` is the baseline. `angle` rotates about the anchor, in degrees
  // clockwise.
  void Text(double x, double y, absl::string_view text, Anchor anchor,
            absl::string_view css_class, double angle = 0,
            absl::string_view style = "");

  double width() const { return width_; }
  double height() const { return height_; }

  // For a page whose style sheet includes ChartCss.
  std::string ToInline() const;
  // A standalone file with XML header, size, and style sheet in the light
  // colors. Text stays text, in Helvetica or a similar font.
  std::string ToFile() const;

 private:
  const double width_;
  const double height_;
  const std::string title_;
  std::string body_;
};

// Builds the `d` attribute of a path.
class PathData {
 public:
  PathData& MoveTo(double x, double y) { return Add('M', x, y); }
  PathData& LineTo(double x, double y) { return Add('L', x, y); }
  PathData& Close();
  const std::string& text() const { return text_; }

 private:
  PathData& Add(char command, double x, double y);
  std::string text_;
};

// Number of colors for series. The first eight are the palette of Okabe and
// Ito, which people with any common form of color blindness can distinguish.
// Its black is gray here, and its yellow, which is hard to see on white, comes
// last.
inline constexpr int kSeriesColors = 20;
inline constexpr int kEasyColors = 8;

// The background of a chart.
enum class Theme { kLight, kDark };

// Replaces $ink, $muted, $grid, $paper and $s0 … $s19 in `css` by the colors of
// `theme`, or by var(--ink) and so on for a page that defines them.
std::string WithColors(const std::string& css, Theme theme);
std::string WithVariables(const std::string& css);

// The definitions for WithVariables, such as `--ink:#1a1a1a;…`.
std::string ColorVariables(Theme theme);

// A fill color for `share` in [0, 1] and a legible text color on it. The scale
// is cividis, which is even in lightness and safe for color blindness.
struct HeatColor {
  std::string fill;
  std::string ink;
};
HeatColor HeatColorOf(double share);

// Estimated width of `text` in a sans-serif font of `size`, from the widths
// that Helvetica, Arial and Liberation Sans share. Rounded up a little, because
// other fonts may be wider.
double TextWidth(absl::string_view text, double size);

// Returns `text`, shortened with an ellipsis in the middle if it is wider than
// `width`.
std::string TextToFit(absl::string_view text, double size, double width);

}  // namespace feedrate
