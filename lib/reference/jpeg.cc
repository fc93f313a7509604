#include "lib/reference/jpeg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

constexpr int kBlock = 8;

using Block = std::array<double, kBlock * kBlock>;

// Quantisation tables of T.81, K.1 and K.2, row by row.
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

// Halves go away from zero, and stay halves although cosines are not exact.
double NearestStep(double steps) {
  return std::round(steps + std::copysign(1e-9, steps));
}

// Each block transformed, quantised and brought back, as bytes.
Plane QuantisePlane(const Plane& plane, const Block& table) {
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
      const double grey = 0.299 * r + 0.587 * g + 0.114 * b;
      luma.at(y, x) = AsByte(grey);
      blue.at(y, x) = AsByte(128 + (b - grey) / 1.772);
      red.at(y, x) = AsByte(128 + (r - grey) / 1.402);
    }
  }
  const Block chroma_table = ScaledTable(kChromaTable, quality);
  luma = QuantisePlane(luma, ScaledTable(kLumaTable, quality));
  blue = Doubled(QuantisePlane(Halved(blue), chroma_table), image->height,
                 image->width);
  red = Doubled(QuantisePlane(Halved(red), chroma_table), image->height,
                image->width);
  for (int y = 0; y < image->height; ++y) {
    for (int x = 0; x < image->width; ++x) {
      const double grey = luma.at(y, x);
      const double r = grey + 1.402 * (red.at(y, x) - 128);
      const double b = grey + 1.772 * (blue.at(y, x) - 128);
      const double g = (grey - 0.299 * r - 0.114 * b) / 0.587;
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
