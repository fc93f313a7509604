// Figures as SVG: for a page, and as files of their own for a paper.
#ifndef FEEDRATE_LIB_DRAW_SVG_H_
#define FEEDRATE_LIB_DRAW_SVG_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/draw/true_type.h"

namespace feedrate {

// `text` for XML and HTML, between tags and inside quotes. Characters that XML
// does not allow become U+FFFD.
std::string EscapeXml(absl::string_view text);

// The rules that drawings rely on, with $names of lib/draw/palette.h. Classes:
// t (tick text), l (label), v (value), h (heading), grid, axis, band, f0 … f7
// (fill of a series), k0 … k7 (stroke of it), whisker, ref (a reference line),
// none (hatched: nothing was measured).
const char* ChartCss();

// A drawing, filled from back to front. Coordinates are pixels at 96 dpi, y
// grows downwards. What is drawn has classes, not colours: a page gives them
// by its own rules, so the same drawing serves light and dark.
class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };

  // `title` is what a screen reader says.
  Svg(double width, double height, std::string title);

  // Shapes drawn until EndGroup share a class; `hover`, where not empty, is
  // shown over them.
  void BeginGroup(absl::string_view css_class, absl::string_view hover = "");
  void EndGroup();

  void Rect(double x, double y, double width, double height,
            absl::string_view css_class, absl::string_view style = "");
  void Line(double x1, double y1, double x2, double y2,
            absl::string_view css_class);
  void Circle(double x, double y, double radius, absl::string_view css_class);
  // `data` is an SVG path; see PathData.
  void Path(absl::string_view data, absl::string_view css_class);
  // `y` is the base line. `angle` turns about the anchor, degrees clockwise.
  void Text(double x, double y, absl::string_view text, Anchor anchor,
            absl::string_view css_class, double angle = 0,
            absl::string_view style = "");

  double width() const { return width_; }
  double height() const { return height_; }

  // For a page whose rules hold ChartCss.
  std::string ToInline() const;
  // A file of its own: XML header, size, rules with the light colours. Text
  // stays text, in Helvetica or what the reader has like it; with a `font` it
  // becomes its outlines and looks the same everywhere.
  std::string ToFile(const TrueTypeFont* font = nullptr) const;

 private:
  struct TextMark {
    // Where in `body_` it belongs.
    size_t place;
    double x;
    double y;
    std::string text;
    Anchor anchor;
    std::string css_class;
    double angle;
    std::string style;
  };

  static std::string AsText(const TextMark& mark);
  static std::string AsPath(const TextMark& mark, const TrueTypeFont& font);
  std::string Body(const TrueTypeFont* font) const;

  const double width_;
  const double height_;
  const std::string title_;
  std::string body_;
  std::vector<TextMark> texts_;
};

// Grows the `d` of a path.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_SVG_H_
