#include "lib/media/item_ids.h"

#include <algorithm>
#include <cmath>

#include "lib/media/image.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

constexpr int kSide = 256;
// Levels of a channel, the middle of each, and how far a value may be off.
constexpr int kBits = 5;
constexpr int kStep = 8;
constexpr double kTolerance = 3.5;

int CheckOf(int64_t id) {
  return static_cast<int>((id ^ (id >> 3) ^ (id >> 6) ^ (id >> 9)) & 7);
}

}  // namespace

std::array<uint8_t, 3> ItemIdColor(int64_t id) {
  const int64_t code = id | (int64_t{CheckOf(id)} << 12);
  std::array<uint8_t, 3> color;
  for (int c = 0; c < 3; ++c) {
    const int64_t level = (code >> (kBits * c)) & ((1 << kBits) - 1);
    color[c] = static_cast<uint8_t>(kStep * level + kStep / 2);
  }
  return color;
}

std::optional<int64_t> IdOfColor(const std::array<double, 3>& color) {
  int64_t code = 0;
  for (int c = 0; c < 3; ++c) {
    if (!(color[c] >= 0 && color[c] < 256)) return std::nullopt;
    const auto level = static_cast<int64_t>(color[c]) / kStep;
    const double middle = static_cast<double>(kStep * level + kStep / 2);
    if (std::abs(color[c] - middle) > kTolerance) return std::nullopt;
    code |= level << (kBits * c);
  }
  const int64_t id = code & (kItemIds - 1);
  if (code >> 12 != CheckOf(id)) return std::nullopt;
  return id;
}

double MiddleOf(std::array<double, 5> values) {
  std::nth_element(values.begin(), values.begin() + 2, values.end());
  return values[2];
}

std::optional<int64_t> IdOfPlanes(const float* planes, int height, int width,
                                  const std::vector<double>& mean,
                                  const std::vector<double>& std,
                                  double scale) {
  return IdOfPicture(height, width, [&](int c, int y, int x) {
    const float value = planes[(int64_t{c} * height + y) * width + x];
    const size_t at = c % mean.size();
    return (value * std[at] + mean[at]) * scale;
  });
}

std::string ItemIdJpeg(int64_t id) {
  const std::array<uint8_t, 3> color = ItemIdColor(id);
  Image image(kSide, kSide, 3);
  for (int y = 0; y < kSide; ++y) {
    uint8_t* const row = image.row(y);
    for (int x = 0; x < kSide; ++x) {
      std::copy(color.begin(), color.end(), row + 3 * x);
    }
  }
  JpegOptions options;
  options.quality = 98;
  // Cannot fail: three channels and moderate sides.
  return EncodeJpeg(image.view(), options).value();
}

}  // namespace feedrate
