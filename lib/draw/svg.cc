#include "lib/draw/svg.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"

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

}  // namespace

std::string ChartCss() {
  std::string rules = kRules;
  for (int i = 0; i < kSeriesColors; ++i) {
    absl::StrAppend(&rules, ".chart .f", i, "{fill:$s", i, "}.chart .k", i,
                    "{stroke:$s", i, "}\n");
  }
  return rules;
}

Svg::Svg(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {}

void Svg::BeginGroup(absl::string_view css_class, absl::string_view hover) {
  absl::StrAppend(&body_, "<g", ClassAttribute(css_class), ">");
  if (!hover.empty()) {
    absl::StrAppend(&body_, "<title>", XmlText(hover), "</title>");
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
  absl::StrAppend(&body_, TurnAttribute(angle, x, y), ClassAttribute(css_class),
                  StyleAttribute(style), ">", XmlText(text), "</text>\n");
}

std::string Svg::ToInline() const {
  return absl::StrCat("<svg class=\"chart\" role=\"img\" aria-label=\"",
                      XmlText(title_), "\" viewBox=\"0 0 ",
                      CoordinateText(width_), " ", CoordinateText(height_),
                      "\" width=\"", CoordinateText(width_), "\" height=\"",
                      CoordinateText(height_), "\">\n", body_, "</svg>\n");
}

std::string Svg::ToFile() const {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"",
      CoordinateText(width_), "\" height=\"", CoordinateText(height_),
      "\" viewBox=\"0 0 ", CoordinateText(width_), " ", CoordinateText(height_),
      "\">\n<title>", XmlText(title_), "</title>\n<style>",
      WithColors(ChartCss(), Theme::kLight), "</style>\n",
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

namespace {

struct Color {
  const char* name;
  const char* light;
  const char* dark;
};

// For dark pages: lighter where the original is hard to see.
constexpr Color kColors[] = {
    {"ink", "#1b1f24", "#e8eaed"},
    {"muted", "#57606a", "#a3adb8"},
    {"grid", "#dfe3e8", "#353c45"},
    {"paper", "#ffffff", "#16191d"},
    {"s0", "#0072b2", "#4aa8e0"},
    {"s1", "#d55e00", "#f08a4b"},
    {"s2", "#009e73", "#2fc79b"},
    {"s3", "#cc79a7", "#e09cc3"},
    {"s4", "#e69f00", "#f0b73a"},
    {"s5", "#56b4e9", "#8fd0f5"},
    {"s6", "#6e7781", "#b0b8c1"},
    {"s7", "#b8a900", "#f0e442"},
    // Each as far as possible from those before it.
    {"s8", "#0606f9", "#9806f9"},
    {"s9", "#f906e0", "#06f906"},
    {"s10", "#05c705", "#f906b0"},
    {"s11", "#34037c", "#065de0"},
    {"s12", "#f91f61", "#f9064f"},
    {"s13", "#630303", "#5b6c13"},
    {"s14", "#50570f", "#1fad2d"},
    {"s15", "#9b83fc", "#d783fc"},
    {"s16", "#d2a679", "#e0fdb4"},
    {"s17", "#630346", "#9b534b"},
    {"s18", "#037c03", "#26736b"},
    {"s19", "#d92691", "#ac397e"},
};

// Equidistant colors of the cividis scale.
constexpr int kHeat[][3] = {{0, 34, 78},     {40, 57, 109},   {77, 85, 109},
                            {107, 107, 113}, {138, 134, 120}, {168, 156, 117},
                            {203, 186, 105}, {229, 207, 82},  {254, 232, 56}};
constexpr int kHeatStops = sizeof(kHeat) / sizeof(kHeat[0]);

template <typename Value>
std::string Replaced(const std::string& css, const Value& value) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Color& color : kColors) {
    pairs.emplace_back(absl::StrCat("$", color.name), value(color));
  }
  return absl::StrReplaceAll(css, pairs);
}

const char* Of(const Color& color, Theme theme) {
  return theme == Theme::kLight ? color.light : color.dark;
}

}  // namespace

std::string WithColors(const std::string& css, Theme theme) {
  return Replaced(css, [&](const Color& color) { return Of(color, theme); });
}

std::string WithVariables(const std::string& css) {
  return Replaced(css, [](const Color& color) {
    return absl::StrCat("var(--", color.name, ")");
  });
}

std::string ColorVariables(Theme theme) {
  std::string text;
  for (const Color& color : kColors) {
    absl::StrAppend(&text, "--", color.name, ":", Of(color, theme), ";");
  }
  return text;
}

HeatColor HeatColorOf(double share) {
  if (!(share > 0)) share = 0;
  const double place = std::min(share, 1.0) * (kHeatStops - 1);
  const int stop = std::min(static_cast<int>(place), kHeatStops - 2);
  int mixed[3];
  for (int i = 0; i < 3; ++i) {
    mixed[i] = static_cast<int>(
        std::lround(kHeat[stop][i] +
                    (place - stop) * (kHeat[stop + 1][i] - kHeat[stop][i])));
  }
  const double lightness =
      0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2];
  return {absl::StrFormat("#%02x%02x%02x", mixed[0], mixed[1], mixed[2]),
          lightness > 110 ? "#111111" : "#ffffff"};
}

namespace {

constexpr double kAllowance = 1.12;

// Width of the character that a byte starts, relative to the font size. 0 for
// the other bytes of a character.
double WidthOf(unsigned char c) {
  if ((c & 0xC0) == 0x80) return 0;
  if (c >= 0x80) return 0.6;
  if (absl::string_view("ijl|!.,:;'").find(c) != absl::string_view::npos) {
    return 0.25;
  }
  if (absl::string_view(" ftrI()[]/-").find(c) != absl::string_view::npos) {
    return 0.31;
  }
  if (c == 'm' || c == 'M' || c == 'W' || c == '%' || c == '@') return 0.86;
  if (c == 'w' || (c >= 'A' && c <= 'Z')) return 0.7;
  return 0.556;
}

}  // namespace

double TextWidth(absl::string_view text, double size) {
  double width = 0;
  for (const char c : text) width += WidthOf(static_cast<unsigned char>(c));
  return width * size * kAllowance;
}

std::string TextToFit(absl::string_view text, double size, double width) {
  if (TextWidth(text, size) <= width) return std::string(text);
  // Keeps both ends, because either may distinguish names: "Gauss…workers=4".
  size_t head = text.size() / 2;
  size_t tail = head;
  double own = TextWidth(text, size);
  const auto drop = [&](char c) {
    own -= WidthOf(static_cast<unsigned char>(c)) * size * kAllowance;
  };
  const auto fits = [&] { return own + size <= width; };
  const auto is_inside = [&](size_t place) {
    return place < text.size() && (text[place] & 0xC0) == 0x80;
  };
  while ((head > 0 || tail < text.size()) && (!fits() || is_inside(head))) {
    if (head > 0) drop(text[--head]);
    if (fits() && !is_inside(head)) break;
    if (tail < text.size()) drop(text[tail++]);
  }
  while (is_inside(head)) --head;
  while (is_inside(tail)) ++tail;
  return absl::StrCat(text.substr(0, head), "…", text.substr(tail));
}

}  // namespace feedrate
