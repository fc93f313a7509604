#include "lib/reference/filter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/reference/color.h"

namespace feedrate {

int InsideIndex(int at, int size, Border border) {
  if (border == Border::kReplicate || size == 1) {
    return std::clamp(at, 0, size - 1);
  }
  while (at < 0 || at >= size) {
    if (at < 0) at = -at;
    if (at >= size) at = 2 * (size - 1) - at;
  }
  return at;
}

Kernel GaussianKernel(int size, double sigma) {
  Kernel kernel{size, size, {}};
  const int half = size / 2;
  double sum = 0;
  for (int y = -half; y <= half; ++y) {
    for (int x = -half; x <= half; ++x) {
      kernel.weights.push_back(
          std::exp(-(x * x + y * y) / (2 * sigma * sigma)));
      sum += kernel.weights.back();
    }
  }
  for (double& weight : kernel.weights) weight /= sum;
  return kernel;
}

Kernel BoxKernel(int height, int width) {
  return {height, width,
          std::vector<double>(static_cast<size_t>(height) * width,
                              1.0 / (height * width))};
}

Pixels Filter(const Pixels& image, const Kernel& kernel, Border border) {
  Pixels result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int i = 0; i < kernel.height; ++i) {
        const int row =
            InsideIndex(y + i - kernel.height / 2, image.height, border);
        for (int j = 0; j < kernel.width; ++j) {
          const int column =
              InsideIndex(x + j - kernel.width / 2, image.width, border);
          const double weight = kernel.weights[i * kernel.width + j];
          for (int c = 0; c < image.channels; ++c) {
            result.at(y, x, c) += weight * image.at(row, column, c);
          }
        }
      }
    }
  }
  return MapValues(result, Saturate);
}

Pixels Median(const Pixels& image, int size, Border border) {
  Pixels result(image.height, image.width, image.channels);
  const int half = size / 2;
  std::vector<double> around;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        around.clear();
        for (int i = -half; i <= half; ++i) {
          const int row = InsideIndex(y + i, image.height, border);
          for (int j = -half; j <= half; ++j) {
            around.push_back(
                image.at(row, InsideIndex(x + j, image.width, border), c));
          }
        }
        const auto middle = around.begin() + around.size() / 2;
        std::nth_element(around.begin(), middle, around.end());
        result.at(y, x, c) = *middle;
      }
    }
  }
  return result;
}

Pixels Sharpen(const Pixels& image, double factor) {
  Kernel smooth = BoxKernel(3, 3);
  for (double& weight : smooth.weights) weight = 1.0 / 13;
  smooth.weights[4] = 5.0 / 13;
  const Pixels smoothed = Filter(image, smooth, Border::kReflect);
  Pixels result = image;
  for (int y = 1; y < image.height - 1; ++y) {
    for (int x = 1; x < image.width - 1; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        const double from = smoothed.at(y, x, c);
        result.at(y, x, c) =
            Saturate(from + factor * (image.at(y, x, c) - from));
      }
    }
  }
  return result;
}

Pixels UnsharpMask(const Pixels& image, int size, double sigma, double amount,
                   double threshold) {
  const Pixels blurred =
      Filter(image, GaussianKernel(size, sigma), Border::kReflect);
  Pixels result = image;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const double difference = image.values[i] - blurred.values[i];
    if (std::abs(difference) <= threshold) continue;
    result.values[i] = Saturate(image.values[i] + amount * difference);
  }
  return result;
}

namespace {

constexpr int kBins = 256;
using Counts = std::array<int, kBins>;
using Table = std::array<double, kBins>;

// The lightness of an image in integer steps of 100/255.
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

// Clips counts above `limit` and gives each bin the same share of the excess;
// the rest, less than one per bin, goes to bins as far apart as possible.
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
    // A side that fits grows by one pixel per tile when the other does not fit,
    // as OpenCV defines it.
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

namespace {

constexpr int kBlock = 8;

using Block = std::array<double, kBlock * kBlock>;

// Quantization tables of T.81, K.1 and K.2, row by row.
constexpr Block kLumaTable = {
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
constexpr Block kChromaTable = {
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

// One component: samples row by row.
struct Plane {
  int height = 0;
  int width = 0;
  std::vector<double> samples;

  Plane(int height, int width)
      : height(height),
        width(width),
        samples(static_cast<size_t>(height) * width) {}
  double& at(int y, int x) {
    return samples[static_cast<size_t>(y) * width + x];
  }
  // Beyond the border the outermost sample is repeated.
  double near(int y, int x) const {
    return samples[static_cast<size_t>(std::clamp(y, 0, height - 1)) * width +
                   std::clamp(x, 0, width - 1)];
  }
};

Block ScaledTable(const Block& table, int quality) {
  const int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  Block scaled;
  for (size_t i = 0; i < table.size(); ++i) {
    scaled[i] = std::clamp(std::floor((table[i] * scale + 50) / 100), 1., 255.);
  }
  return scaled;
}

// cosines[u][x]: the orthonormal base of the cosine transform.
using Base = std::array<std::array<double, kBlock>, kBlock>;
const Base& Cosines() {
  static const Base& base = *[] {
    auto* made = new Base;
    const double pi = std::acos(-1.0);
    for (int u = 0; u < kBlock; ++u) {
      for (int x = 0; x < kBlock; ++x) {
        (*made)[u][x] = (u == 0 ? std::sqrt(0.125) : 0.5) *
                        std::cos((2 * x + 1) * u * pi / 16);
      }
    }
    return made;
  }();
  return base;
}

// rows and columns of `block` multiplied by the base, or by its transpose.
Block Transform(const Block& block, bool forward) {
  const Base& base = Cosines();
  const auto weight = [&](int to, int from) {
    return forward ? base[to][from] : base[from][to];
  };
  Block half{};
  Block whole{};
  for (int y = 0; y < kBlock; ++y) {
    for (int u = 0; u < kBlock; ++u) {
      for (int x = 0; x < kBlock; ++x) {
        half[y * kBlock + u] += weight(u, x) * block[y * kBlock + x];
      }
    }
  }
  for (int v = 0; v < kBlock; ++v) {
    for (int y = 0; y < kBlock; ++y) {
      for (int u = 0; u < kBlock; ++u) {
        whole[v * kBlock + u] += weight(v, y) * half[y * kBlock + u];
      }
    }
  }
  return whole;
}

// Rounds halves away from zero, and recognizes halves although cosines are not
// exact.
double NearestStep(double steps) {
  return std::round(steps + std::copysign(1e-9, steps));
}

// Transforms each block, quantizes it and transforms it back, as bytes.
Plane QuantizePlane(const Plane& plane, const Block& table) {
  Plane result(plane.height, plane.width);
  for (int top = 0; top < plane.height; top += kBlock) {
    for (int left = 0; left < plane.width; left += kBlock) {
      Block block;
      for (int i = 0; i < kBlock * kBlock; ++i) {
        block[i] = plane.near(top + i / kBlock, left + i % kBlock) - 128;
      }
      block = Transform(block, /*forward=*/true);
      for (int i = 0; i < kBlock * kBlock; ++i) {
        block[i] = table[i] * NearestStep(block[i] / table[i]);
      }
      block = Transform(block, /*forward=*/false);
      for (int i = 0; i < kBlock * kBlock; ++i) {
        const int y = top + i / kBlock;
        const int x = left + i % kBlock;
        if (y < plane.height && x < plane.width) {
          result.at(y, x) = AsByte(block[i] + 128);
        }
      }
    }
  }
  return result;
}

Plane Halved(const Plane& plane) {
  Plane half((plane.height + 1) / 2, (plane.width + 1) / 2);
  for (int y = 0; y < half.height; ++y) {
    for (int x = 0; x < half.width; ++x) {
      half.at(y, x) = AsByte(
          (plane.near(2 * y, 2 * x) + plane.near(2 * y, 2 * x + 1) +
           plane.near(2 * y + 1, 2 * x) + plane.near(2 * y + 1, 2 * x + 1)) /
          4);
    }
  }
  return half;
}

// Each new sample is 3/4 of the nearer and 1/4 of the further one, both ways.
Plane Doubled(const Plane& half, int height, int width) {
  Plane plane(height, width);
  for (int y = 0; y < height; ++y) {
    const int other_y = y / 2 + (y % 2 == 0 ? -1 : 1);
    for (int x = 0; x < width; ++x) {
      const int other_x = x / 2 + (x % 2 == 0 ? -1 : 1);
      plane.at(y, x) =
          AsByte((9 * half.near(y / 2, x / 2) + 3 * half.near(other_y, x / 2) +
                  3 * half.near(y / 2, other_x) + half.near(other_y, other_x)) /
                 16);
    }
  }
  return plane;
}

void RoundTripGroup(Pixels* image, int first, int quality) {
  Plane luma(image->height, image->width);
  Plane blue = luma;
  Plane red = luma;
  for (int y = 0; y < image->height; ++y) {
    for (int x = 0; x < image->width; ++x) {
      const double r = image->at(y, x, first);
      const double g = image->at(y, x, first + 1);
      const double b = image->at(y, x, first + 2);
      const double gray = 0.299 * r + 0.587 * g + 0.114 * b;
      luma.at(y, x) = AsByte(gray);
      blue.at(y, x) = AsByte(128 + (b - gray) / 1.772);
      red.at(y, x) = AsByte(128 + (r - gray) / 1.402);
    }
  }
  const Block chroma_table = ScaledTable(kChromaTable, quality);
  luma = QuantizePlane(luma, ScaledTable(kLumaTable, quality));
  blue = Doubled(QuantizePlane(Halved(blue), chroma_table), image->height,
                 image->width);
  red = Doubled(QuantizePlane(Halved(red), chroma_table), image->height,
                image->width);
  for (int y = 0; y < image->height; ++y) {
    for (int x = 0; x < image->width; ++x) {
      const double gray = luma.at(y, x);
      const double r = gray + 1.402 * (red.at(y, x) - 128);
      const double b = gray + 1.772 * (blue.at(y, x) - 128);
      const double g = (gray - 0.299 * r - 0.114 * b) / 0.587;
      image->at(y, x, first) = Saturate(r);
      image->at(y, x, first + 1) = Saturate(g);
      image->at(y, x, first + 2) = Saturate(b);
    }
  }
}

}  // namespace

Pixels JpegRoundTrip(const Pixels& image, int quality) {
  Pixels result = image;
  for (int first = 0; first + 2 < image.channels; first += 3) {
    RoundTripGroup(&result, first, quality);
  }
  return result;
}

}  // namespace feedrate
