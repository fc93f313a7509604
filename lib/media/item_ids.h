// Images that show which item they are, so that any loader can be audited by
// what it delivers: one color each, which crops, flips, resizes, rotations and
// blurs keep. Transforms that change colors do not.
//
// A color has five bits of each channel: twelve for the id and three to check
// it. lib/adapters/python/item_ids.py reads the same colors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace feedrate {

// Ids are 0 to kItemIds - 1.
inline constexpr int64_t kItemIds = 4096;

// Red, green and blue, 0 to 255.
std::array<uint8_t, 3> ItemIdColor(int64_t id);

// The id of a color that may be off by 3 in each channel, as after JPEG. Empty
// for other colors.
std::optional<int64_t> IdOfColor(const std::array<double, 3>& color);

// The id that a picture shows at five points around its center: the middle
// value of each channel. `at` returns a value, 0 to 255, for channel, row and
// column.
template <typename At>
std::optional<int64_t> IdOfPicture(int height, int width, const At& at);

// The same for planes of floats: (pixel / scale - mean) / std, of which there
// is one per channel, or one for all.
std::optional<int64_t> IdOfPlanes(const float* planes, int height, int width,
                                  const std::vector<double>& mean,
                                  const std::vector<double>& std, double scale);

// A picture of one color, larger than the crop of any recipe.
std::string ItemIdJpeg(int64_t id);

// Implementation.

double MiddleOf(std::array<double, 5> values);

template <typename At>
std::optional<int64_t> IdOfPicture(int height, int width, const At& at) {
  const int y = height / 2, x = width / 2, dy = height / 8, dx = width / 8;
  std::array<double, 3> color;
  for (int c = 0; c < 3; ++c) {
    color[c] = MiddleOf({at(c, y, x), at(c, y - dy, x), at(c, y + dy, x),
                         at(c, y, x - dx), at(c, y, x + dx)});
  }
  return IdOfColor(color);
}

}  // namespace feedrate
