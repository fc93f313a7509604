#include "lib/draw/flame_graph.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

constexpr double kFrameHeight = 19;
constexpr double kLegend = 26;
constexpr double kLeastWidth = 1;
constexpr double kFontSize = 11;
constexpr double kPadding = 4;
// Recursion can be deeper than anyone reads.
constexpr int kMostRows = 60;

struct Placed {
  double x = 0;
  double width = 0;
  int row = 0;
};

std::string Milliseconds(double seconds) {
  return absl::StrCat(SignificantText(1e3 * seconds), " ms");
}

std::string Hover(const FlameFrame& frame, const FlameFrame& root) {
  const double change = frame.b - frame.a;
  const double whole = root.b - root.a;
  std::string text = absl::StrCat(
      frame.name, "\nA ", Milliseconds(frame.a), ", B ", Milliseconds(frame.b),
      "\nchange ", change < 0 ? "−" : "+", Milliseconds(std::abs(change)));
  if (whole != 0) {
    absl::StrAppendFormat(&text, ", %.0f%% of the whole change",
                          100 * change / whole);
  }
  return text;
}

// Orange for more time in B, blue for less, transparent for no change.
void ColoredRect(double x, double y, double width, double height, double change,
                 Svg* svg) {
  svg->Rect(x, y, width, height, "stripe");
  if (change == 0) return;
  svg->Rect(x, y, width, height, change > 0 ? "f1" : "f0",
            absl::StrFormat("opacity:%.2f",
                            std::min(0.75, 0.08 + 0.67 * std::abs(change))));
}

}  // namespace

Svg DrawFlameGraph(const FlameGraph& graph) {
  const std::vector<FlameFrame>& frames = graph.frames;
  const size_t n = frames.size();
  std::vector<std::vector<size_t>> children(n);
  double largest = 0;
  for (size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(frames[i].b - frames[i].a));
    const int parent = frames[i].parent;
    if (i > 0 && parent >= 0 && static_cast<size_t>(parent) < i) {
      children[parent].push_back(i);
    }
  }
  // Records may hold anything.
  const auto weight = [&](size_t i) {
    const double both = frames[i].a + frames[i].b;
    return std::isfinite(both) && both > 0 ? both : 0;
  };
  // Places callers before what they call, so the order of `order` is top down.
  std::vector<Placed> places(n);
  std::vector<size_t> order;
  int rows = 1;
  if (n > 0 && weight(0) > 0) {
    places[0] = {0, graph.width, 0};
    order.push_back(0);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t i = order[at];
    std::stable_sort(children[i].begin(), children[i].end(),
                     [&](size_t a, size_t b) { return weight(a) > weight(b); });
    double x = places[i].x;
    for (const size_t child : children[i]) {
      const double width = graph.width * weight(child) / weight(0);
      if (width >= kLeastWidth && places[i].row + 1 < kMostRows) {
        places[child] = {x, width, places[i].row + 1};
        rows = std::max(rows, places[child].row + 1);
        order.push_back(child);
      }
      x += width;
    }
  }
  Svg svg(graph.width, kLegend + rows * kFrameHeight, graph.title);
  const double key = 14;
  ColoredRect(0, 4, key, 12, 1, &svg);
  svg.Text(key + 5, 14, "more time in B", Svg::Anchor::kStart, "t");
  const double second = key + 5 + TextWidth("more time in B", kFontSize) + 14;
  ColoredRect(second, 4, key, 12, -1, &svg);
  svg.Text(second + key + 5, 14, "less", Svg::Anchor::kStart, "t");
  for (const size_t i : order) {
    const FlameFrame& frame = frames[i];
    const Placed& place = places[i];
    const double y = kLegend + place.row * kFrameHeight;
    const double width = std::max(kLeastWidth, place.width - 1);
    svg.BeginGroup("cell", Hover(frame, frames[0]));
    ColoredRect(place.x, y, width, kFrameHeight - 1,
                largest > 0 ? (frame.b - frame.a) / largest : 0, &svg);
    if (width > 3 * kFontSize) {
      svg.Text(place.x + kPadding, y + kFrameHeight - 6,
               TextToFit(frame.name, kFontSize, width - 2 * kPadding),
               Svg::Anchor::kStart, "");
    }
    svg.EndGroup();
  }
  return svg;
}

}  // namespace feedrate
