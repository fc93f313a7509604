#include "lib/reference/clahe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lib/reference/filter.h"
#include "lib/reference/lab.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

constexpr int kBins = 256;
using Counts = std::array<int, kBins>;
using Table = std::array<double, kBins>;

// The lightness of an image in whole steps of 100/255.
struct Lightness {
  int height = 0;
  int width = 0;
  std::vector<int> steps;

  // Beyond the border it is reflected.
  int at(int y, int x) const {
    return steps[static_cast<size_t>(InsideIndex(y, height, Border::kReflect)) *
                     width +
                 InsideIndex(x, width, Border::kReflect)];
  }
};

// Takes what is above `limit` and gives each bin the same share; the rest, less
// than one a bin, goes to bins as far apart as possible.
void ShareOut(Counts* counts, int limit) {
  int excess = 0;
  for (int& count : *counts) {
    excess += std::max(0, count - limit);
    count = std::min(count, limit);
  }
  for (int& count : *counts) count += excess / kBins;
  int rest = excess % kBins;
  const int step = rest == 0 ? 1 : std::max(1, kBins / rest);
  for (int i = 0; i < kBins && rest > 0; i += step, --rest) ++(*counts)[i];
}

class Equalizer {
 public:
  Equalizer(const Lightness& lightness, double clip_limit, int tiles)
      : lightness_(lightness), tiles_(tiles) {
    const bool fits =
        lightness.height % tiles == 0 && lightness.width % tiles == 0;
    // A side that fits grows by a whole row of pixels a tile when the other
    // does not fit, as OpenCV defines it.
    tile_height_ =
        fits ? lightness.height / tiles : lightness.height / tiles + 1;
    tile_width_ = fits ? lightness.width / tiles : lightness.width / tiles + 1;
    const int area = tile_height_ * tile_width_;
    const int limit = std::max(1, static_cast<int>(clip_limit * area / kBins));
    for (int i = 0; i < tiles * tiles; ++i) {
      tables_.push_back(TableOf(i / tiles, i % tiles, limit));
    }
  }

  // The new lightness of the pixel, 0..255.
  double At(int y, int x) const {
    const double row = static_cast<double>(y) / tile_height_ - 0.5;
    const double column = static_cast<double>(x) / tile_width_ - 0.5;
    const double below = row - std::floor(row);
    const double right = column - std::floor(column);
    const int top = static_cast<int>(std::floor(row));
    const int left = static_cast<int>(std::floor(column));
    const int step = lightness_.at(y, x);
    return (1 - below) * ((1 - right) * Entry(top, left, step) +
                          right * Entry(top, left + 1, step)) +
           below * ((1 - right) * Entry(top + 1, left, step) +
                    right * Entry(top + 1, left + 1, step));
  }

 private:
  Table TableOf(int tile_row, int tile_column, int limit) const {
    Counts counts{};
    for (int y = 0; y < tile_height_; ++y) {
      for (int x = 0; x < tile_width_; ++x) {
        ++counts[lightness_.at(tile_row * tile_height_ + y,
                               tile_column * tile_width_ + x)];
      }
    }
    ShareOut(&counts, limit);
    Table table;
    int sum = 0;
    for (int i = 0; i < kBins; ++i) {
      sum += counts[i];
      table[i] = AsByte(255.0 * sum / (tile_height_ * tile_width_));
    }
    return table;
  }

  // Beyond the outermost tiles they are repeated.
  double Entry(int row, int column, int step) const {
    row = std::clamp(row, 0, tiles_ - 1);
    column = std::clamp(column, 0, tiles_ - 1);
    return tables_[row * tiles_ + column][step];
  }

  const Lightness& lightness_;
  const int tiles_;
  int tile_height_ = 0;
  int tile_width_ = 0;
  std::vector<Table> tables_;
};

}  // namespace

Pixels EqualizeTiles(const Pixels& image, double clip_limit, int tiles) {
  Pixels lab = RgbToLab(image);
  Lightness lightness{image.height, image.width, {}};
  for (size_t i = 0; i < lab.values.size(); i += 3) {
    lightness.steps.push_back(static_cast<int>(AsByte(lab.values[i] * 2.55)));
  }
  const Equalizer equalizer(lightness, clip_limit, tiles);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      lab.at(y, x, 0) = equalizer.At(y, x) / 2.55;
    }
  }
  return LabToRgb(lab);
}

}  // namespace feedrate
