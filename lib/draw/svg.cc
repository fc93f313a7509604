#include "lib/draw/svg.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/draw/number_text.h"
#include "lib/draw/palette.h"

namespace feedrate {
namespace {

constexpr char kRules[] = R"css(
.chart text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;fill:$ink;font-size:11px}
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
  absl::StrAppend(&body_, "<text x=\"", CoordinateText(x), "\" y=\"",
                  CoordinateText(y), "\"");
  if (anchor != Anchor::kStart) {
    absl::StrAppend(&body_, " text-anchor=\"",
                    anchor == Anchor::kMiddle ? "middle" : "end", "\"");
  }
  if (angle != 0) {
    absl::StrAppend(&body_, " transform=\"rotate(", CoordinateText(angle), " ",
                    CoordinateText(x), " ", CoordinateText(y), ")\"");
  }
  absl::StrAppend(&body_, ClassAttribute(css_class), StyleAttribute(style),
                  ">", EscapeXml(text), "</text>\n");
}

std::string Svg::ToInline() const {
  return absl::StrCat(
      "<svg class=\"chart\" role=\"img\" aria-label=\"", EscapeXml(title_),
      "\" viewBox=\"0 0 ", CoordinateText(width_), " ",
      CoordinateText(height_), "\" width=\"", CoordinateText(width_),
      "\" height=\"", CoordinateText(height_), "\">\n", body_, "</svg>\n");
}

std::string Svg::ToFile() const {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"",
      CoordinateText(width_), "\" height=\"", CoordinateText(height_),
      "\" viewBox=\"0 0 ", CoordinateText(width_), " ",
      CoordinateText(height_), "\">\n<title>", EscapeXml(title_),
      "</title>\n<style>", WithColors(kRules, Theme::kLight), "</style>\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", body_,
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
