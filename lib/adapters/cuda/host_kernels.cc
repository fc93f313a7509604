#include "lib/adapters/cuda/host_kernels.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "lib/adapters/cuda/blur_math.h"

namespace feedrate::fused {
namespace {

Rgb ColourAt(const HostImage& image, int y, int x) {
  return {image.at(y, x, 0) / 255, image.at(y, x, 1) / 255,
          image.at(y, x, 2) / 255};
}

float TapAt(const HostImage& image, int y, int x, int c, Edge edge) {
  const int row = InsideOf(y, image.height, edge);
  const int column = InsideOf(x, image.width, edge);
  return row < 0 || column < 0 ? 0 : image.at(row, column, c);
}

}  // namespace

HostImage Rounded(HostImage image) {
  for (float& value : image.values) value = ToByte(value);
  return image;
}

HostImage HostJitter(const HostImage& image, const Jitter& jitter) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      sum += LumaOf(BeforeContrast(jitter, ColourAt(image, y, x)));
    }
  }
  const auto mean = static_cast<float>(sum / image.height / image.width);
  HostImage result(image.height, image.width);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const Rgb c = Jittered(jitter, ColourAt(image, y, x), mean);
      result.at(y, x, 0) = 255 * c.r;
      result.at(y, x, 1) = 255 * c.g;
      result.at(y, x, 2) = 255 * c.b;
    }
  }
  return result;
}

HostImage HostWarp(const HostImage& image, const Projection& projection,
                   Edge edge, int height, int width) {
  return MakeImage(height, width, [&](int y, int x, int c) {
    const Corner at = CornerOf(ReadPlace(projection, x, y));
    return Between(Between(TapAt(image, at.y, at.x, c, edge),
                           TapAt(image, at.y, at.x + 1, c, edge), at.right),
                   Between(TapAt(image, at.y + 1, at.x, c, edge),
                           TapAt(image, at.y + 1, at.x + 1, c, edge), at.right),
                   at.below);
  });
}

HostImage HostBlur(const HostImage& image, float sigma, int radius) {
  float weights[kMaxBlurRadius + 1];
  GaussianWeights(sigma, radius, weights);
  const auto pass = [&](const HostImage& from, int dy, int dx) {
    return MakeImage(from.height, from.width, [&](int y, int x, int c) {
      float sum = 0;
      for (int j = -radius; j <= radius; ++j) {
        sum += weights[std::abs(j)] *
               TapAt(from, y + j * dy, x + j * dx, c, Edge::kReflect);
      }
      return sum;
    });
  };
  return pass(pass(image, 0, 1), 1, 0);
}

HostImage HostTone(const HostImage& image, Tone tone, float amount) {
  return MakeImage(image.height, image.width, [&](int y, int x, int c) {
    return ToneOf(static_cast<uint8_t>(image.at(y, x, c)), tone, amount);
  });
}

HostImage HostEqualize(const HostImage& image) {
  std::array<std::array<uint32_t, 256>, 3> counts = {};
  const uint32_t pixels = image.height * image.width;
  for (size_t i = 0; i < image.values.size(); ++i) {
    ++counts[i % 3][static_cast<int>(image.values[i])];
  }
  std::array<std::array<float, 256>, 3> tables;
  for (int c = 0; c < 3; ++c) {
    int greatest = 255;
    while (counts[c][greatest] == 0) --greatest;
    const uint32_t step = EqualizeStep(pixels, counts[c][greatest]);
    uint32_t below = 0;
    for (int v = 0; v < 256; ++v) {
      tables[c][v] = step == 0 ? v : EqualizedValue(below, step);
      below += counts[c][v];
    }
  }
  return MakeImage(image.height, image.width, [&](int y, int x, int c) {
    return tables[c][static_cast<int>(image.at(y, x, c))];
  });
}

}  // namespace feedrate::fused
