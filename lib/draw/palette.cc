#include "lib/draw/palette.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace feedrate {
namespace {

struct Color {
  const char* name;
  const char* light;
  const char* dark;
};

// Dark: a step lighter where the original is dim on a dark page.
constexpr Color kColors[] = {
    {"ink", "#1b1f24", "#e8eaed"},  {"muted", "#57606a", "#a3adb8"},
    {"grid", "#dfe3e8", "#353c45"}, {"paper", "#ffffff", "#16191d"},
    {"s0", "#0072b2", "#4aa8e0"},   {"s1", "#d55e00", "#f08a4b"},
    {"s2", "#009e73", "#2fc79b"},   {"s3", "#cc79a7", "#e09cc3"},
    {"s4", "#e69f00", "#f0b73a"},   {"s5", "#56b4e9", "#8fd0f5"},
    {"s6", "#6e7781", "#b0b8c1"},   {"s7", "#b8a900", "#f0e442"},
};

// Stops of cividis at equal distances.
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

}  // namespace feedrate
