#include "lib/draw/svg.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/draw/number_text.h"
#include "lib/draw/palette.h"
#include "lib/draw/true_type.h"

namespace feedrate {
namespace {

constexpr char kRules[] = R"css(
.chart text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;fill:$ink;font-size:11px}
.chart .glyphs{fill:$ink}
.chart .glyphs.h{stroke:$ink;stroke-width:.4}
.chart .t{fill:$muted;font-size:10.5px}
.chart .l{font-size:11.5px}
.chart .v{font-size:10px;fill:$muted}
.chart .h{font-size:12.5px;font-weight:600}
.chart .grid{stroke:$grid;stroke-width:1}
.chart .axis{stroke:$muted;stroke-width:1;fill:none}
.chart .ref{stroke:$ink;stroke-width:1;stroke-dasharray:4 3;fill:none}
.chart .whisker{stroke:$ink;stroke-width:1.2;fill:none}
.chart .stripe{fill:$grid;opacity:.35}
.chart .none{fill:$grid}
.chart .dot{stroke:$paper;stroke-width:1}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .band{opacity:.18;stroke:none}
.chart .faint{opacity:.55}
.chart .f0{fill:$s0}.chart .f1{fill:$s1}.chart .f2{fill:$s2}.chart .f3{fill:$s3}
.chart .f4{fill:$s4}.chart .f5{fill:$s5}.chart .f6{fill:$s6}.chart .f7{fill:$s7}
.chart .k0{stroke:$s0}.chart .k1{stroke:$s1}.chart .k2{stroke:$s2}.chart .k3{stroke:$s3}
.chart .k4{stroke:$s4}.chart .k5{stroke:$s5}.chart .k6{stroke:$s6}.chart .k7{stroke:$s7}
)css";

std::string ClassAttribute(absl::string_view css_class) {
  return css_class.empty() ? "" : absl::StrCat(" class=\"", css_class, "\"");
}

std::string StyleAttribute(absl::string_view style) {
  return style.empty() ? "" : absl::StrCat(" style=\"", style, "\"");
}

std::string TurnAttribute(double angle, double x, double y) {
  if (angle == 0) return "";
  return absl::StrCat(" transform=\"rotate(", CoordinateText(angle), " ",
                      CoordinateText(x), " ", CoordinateText(y), ")\"");
}

// The sizes of the rules above.
double FontSizeOf(absl::string_view css_class) {
  if (css_class == "t") return 10.5;
  if (css_class == "l") return 11.5;
  if (css_class == "v") return 10;
  if (css_class == "h") return 12.5;
  return 11;
}

bool IsAllowed(unsigned char c) {
  return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (IsAllowed(static_cast<unsigned char>(c))) {
          out += c;
        } else {
          out += "\xEF\xBF\xBD";
        }
    }
  }
  return out;
}

const char* ChartCss() { return kRules; }

Svg::Svg(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {}

void Svg::BeginGroup(absl::string_view css_class, absl::string_view hover) {
  absl::StrAppend(&body_, "<g", ClassAttribute(css_class), ">");
  if (!hover.empty()) {
    absl::StrAppend(&body_, "<title>", EscapeXml(hover), "</title>");
  }
  body_ += "\n";
}

void Svg::EndGroup() { body_ += "</g>\n"; }

void Svg::Rect(double x, double y, double width, double height,
               absl::string_view css_class, absl::string_view style) {
  absl::StrAppend(&body_, "<rect x=\"", CoordinateText(x), "\" y=\"",
                  CoordinateText(y), "\" width=\"", CoordinateText(width),
                  "\" height=\"", CoordinateText(height), "\"",
                  ClassAttribute(css_class), StyleAttribute(style), "/>\n");
}

void Svg::Line(double x1, double y1, double x2, double y2,
               absl::string_view css_class) {
  absl::StrAppend(&body_, "<path d=\"M", CoordinateText(x1), " ",
                  CoordinateText(y1), "L", CoordinateText(x2), " ",
                  CoordinateText(y2), "\"", ClassAttribute(css_class), "/>\n");
}

void Svg::Circle(double x, double y, double radius,
                 absl::string_view css_class) {
  absl::StrAppend(&body_, "<circle cx=\"", CoordinateText(x), "\" cy=\"",
                  CoordinateText(y), "\" r=\"", CoordinateText(radius), "\"",
                  ClassAttribute(css_class), "/>\n");
}

void Svg::Path(absl::string_view data, absl::string_view css_class) {
  absl::StrAppend(&body_, "<path d=\"", data, "\"", ClassAttribute(css_class),
                  "/>\n");
}

void Svg::Text(double x, double y, absl::string_view text, Anchor anchor,
               absl::string_view css_class, double angle,
               absl::string_view style) {
  texts_.push_back({body_.size(), x, y, std::string(text), anchor,
                    std::string(css_class), angle, std::string(style)});
}

std::string Svg::AsText(const TextMark& mark) {
  std::string out = absl::StrCat("<text x=\"", CoordinateText(mark.x),
                                 "\" y=\"", CoordinateText(mark.y), "\"");
  if (mark.anchor != Anchor::kStart) {
    absl::StrAppend(&out, " text-anchor=\"",
                    mark.anchor == Anchor::kMiddle ? "middle" : "end", "\"");
  }
  absl::StrAppend(&out, TurnAttribute(mark.angle, mark.x, mark.y),
                  ClassAttribute(mark.css_class), StyleAttribute(mark.style),
                  ">", EscapeXml(mark.text), "</text>\n");
  return out;
}

std::string Svg::AsPath(const TextMark& mark, const TrueTypeFont& font) {
  const double size = FontSizeOf(mark.css_class);
  const double width = font.Width(mark.text, size);
  const double shift = mark.anchor == Anchor::kStart    ? 0
                       : mark.anchor == Anchor::kMiddle ? width / 2
                                                        : width;
  return absl::StrCat(
      "<path class=\"glyphs", mark.css_class.empty() ? "" : " ", mark.css_class,
      "\"", TurnAttribute(mark.angle, mark.x, mark.y),
      StyleAttribute(mark.style), " d=\"",
      font.PathOf(mark.text, mark.x - shift, mark.y, size), "\"/>\n");
}

std::string Svg::Body(const TrueTypeFont* font) const {
  std::string out;
  size_t done = 0;
  for (const TextMark& mark : texts_) {
    absl::StrAppend(&out,
                    absl::string_view(body_).substr(done, mark.place - done),
                    font == nullptr ? AsText(mark) : AsPath(mark, *font));
    done = mark.place;
  }
  return absl::StrCat(out, absl::string_view(body_).substr(done));
}

std::string Svg::ToInline() const {
  return absl::StrCat(
      "<svg class=\"chart\" role=\"img\" aria-label=\"", EscapeXml(title_),
      "\" viewBox=\"0 0 ", CoordinateText(width_), " ", CoordinateText(height_),
      "\" width=\"", CoordinateText(width_), "\" height=\"",
      CoordinateText(height_), "\">\n", Body(nullptr), "</svg>\n");
}

std::string Svg::ToFile(const TrueTypeFont* font) const {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"",
      CoordinateText(width_), "\" height=\"", CoordinateText(height_),
      "\" viewBox=\"0 0 ", CoordinateText(width_), " ", CoordinateText(height_),
      "\">\n<title>", EscapeXml(title_), "</title>\n<style>",
      WithColors(kRules, Theme::kLight), "</style>\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", Body(font),
      "</svg>\n");
}

PathData& PathData::Close() {
  text_ += 'Z';
  return *this;
}

PathData& PathData::Add(char command, double x, double y) {
  absl::StrAppend(&text_, std::string(1, command), CoordinateText(x), " ",
                  CoordinateText(y));
  return *this;
}

}  // namespace feedrate
