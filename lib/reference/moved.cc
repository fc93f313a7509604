#include "lib/reference/moved.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// How far the middle of a tile may be from where equal tiles would have it.
constexpr int kTileSlack = 4;
// Side of the patch that is looked for: flat ones aside, large enough to be
// found by chance nowhere else.
constexpr int kPatch = 8;

// Values of `output` at (y, x) and of `input` at (v, u), or zero outside.
bool SamePixel(const Pixels& output, int y, int x, const Pixels& input, int v,
               int u) {
  const bool outside = v < 0 || v >= input.height || u < 0 || u >= input.width;
  for (int c = 0; c < output.channels; ++c) {
    const double value = outside ? 0 : input.at(v, u, c);
    if (!SameValue(output.at(y, x, c), value)) return false;
  }
  return true;
}

// Whether a part of `output` at (y, x) is the part of `input` at (v, u).
bool SamePart(const Pixels& output, int y, int x, const Pixels& input, int v,
              int u, int height, int width) {
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      if (!SamePixel(output, y + i, x + j, input, v + i, u + j)) return false;
    }
  }
  return true;
}

bool SameChannel(const Pixels& output, int c, const Pixels& input, int d) {
  for (size_t i = 0; i < output.values.size(); i += output.channels) {
    if (!SameValue(output.values[i + c], input.values[i + d])) return false;
  }
  return true;
}

// Upper left corner of the patch in the middle of tile `index` of `count`.
int PatchStart(int index, int count, int size) {
  return (2 * index + 1) * size / (2 * count) - kPatch / 2;
}

}  // namespace

bool SameValue(double a, double b) { return std::abs(a - b) <= 1e-3; }

std::string NotAWindow(const Pixels& input, const Pixels& output, int height,
                       int width) {
  if (output.height != height || output.width != width ||
      output.channels != input.channels) {
    return absl::StrCat("the size is ", output.width, "x", output.height);
  }
  const int low_y = std::min(0, input.height - height);
  const int low_x = std::min(0, input.width - width);
  for (int y = low_y; y <= std::abs(input.height - height); ++y) {
    for (int x = low_x; x <= std::abs(input.width - width); ++x) {
      if (SamePart(output, 0, 0, input, y, x, height, width)) return "";
    }
  }
  return "it is no window of the input";
}

std::string NotPermutedChannels(const Pixels& input, const Pixels& output) {
  if (!input.SameShape(output)) return "the size is another";
  std::vector<bool> used(input.channels, false);
  for (int c = 0; c < output.channels; ++c) {
    int d = 0;
    while (d < input.channels && (used[d] || !SameChannel(output, c, input, d)))
      ++d;
    if (d == input.channels) {
      return absl::StrCat("channel ", c, " is none of the input");
    }
    used[d] = true;
  }
  return "";
}

std::string NotOneRectangle(const Pixels& input, const Pixels& output,
                            double low, double high) {
  if (!input.SameShape(output)) return "the size is another";
  int top = input.height;
  int left = input.width;
  int bottom = -1;
  int right = -1;
  for (int y = 0; y < input.height; ++y) {
    for (int x = 0; x < input.width; ++x) {
      if (SamePixel(output, y, x, input, y, x)) continue;
      top = std::min(top, y);
      bottom = std::max(bottom, y);
      left = std::min(left, x);
      right = std::max(right, x);
    }
  }
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      for (int c = 0; c < output.channels; ++c) {
        if (!SameValue(output.at(y, x, c), 0)) {
          return "more than one rectangle has changed, or not to zeros";
        }
      }
    }
  }
  const double rows = std::max(0, bottom - top + 1);
  const double columns = std::max(0, right - left + 1);
  const double pixels = static_cast<double>(input.height) * input.width;
  if ((rows + 1) * (columns + 1) < low * pixels ||
      std::max(0., rows - 1) * std::max(0., columns - 1) > high * pixels) {
    return absl::StrCat("a rectangle of ", columns, "x", rows,
                        " is beyond the area allowed");
  }
  return "";
}

std::string NotShuffledTiles(const Pixels& input, const Pixels& output,
                             int rows, int columns) {
  if (!input.SameShape(output)) return "the size is another";
  if (input.height / rows < kPatch + 2 * kTileSlack ||
      input.width / columns < kPatch + 2 * kTileSlack) {
    return "the tiles are too small to tell";
  }
  std::vector<bool> used(rows * columns, false);
  for (int i = 0; i < rows * columns; ++i) {
    const int y = PatchStart(i / columns, rows, input.height);
    const int x = PatchStart(i % columns, columns, input.width);
    bool found = false;
    for (int j = 0; j < rows * columns && !found; ++j) {
      if (used[j]) continue;
      const int v = PatchStart(j / columns, rows, input.height);
      const int u = PatchStart(j % columns, columns, input.width);
      for (int dv = -kTileSlack; dv <= kTileSlack && !found; ++dv) {
        for (int du = -kTileSlack; du <= kTileSlack && !found; ++du) {
          found = SamePart(output, y, x, input, v + dv, u + du, kPatch, kPatch);
        }
      }
      used[j] = found;
    }
    if (!found) return absl::StrCat("tile ", i, " is none of the input");
  }
  return "";
}

}  // namespace feedrate
