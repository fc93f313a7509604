#include "lib/loader/fused_planes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace feedrate {
namespace {

constexpr float kUntouched = -12345;

struct Case {
  int height = 3;
  int width = 1;
  int channels = 3;
  int gap = 0;        // Bytes between rows.
  int alignment = 0;  // Of the first byte and the first float.
  bool mirror = false;
  bool upside_down = false;
};

std::vector<float> Factors(int channels, float first) {
  std::vector<float> factors;
  for (int c = 0; c < channels; ++c) factors.push_back(first / (1.0f + c));
  return factors;
}

void ExpectAsInDoubles(const Case& c) {
  const size_t row = static_cast<size_t>(c.width) * c.channels;
  const size_t stride = row + c.gap;
  // To the byte, so that a sanitizer sees reading past the end.
  std::vector<uint8_t> pixels(c.alignment + stride * (c.height - 1) + row);
  std::mt19937 random(c.width * 31 + c.channels);
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random());
  const uint8_t* first = pixels.data() + c.alignment;
  const std::vector<float> scale = Factors(c.channels, 0.0171f);
  const std::vector<float> offset = Factors(c.channels, -2.1f);
  const size_t plane = static_cast<size_t>(c.height) * c.width;
  std::vector<float> out(c.alignment + plane * c.channels + 1, kUntouched);
  PlanesInput input = {first, static_cast<ptrdiff_t>(stride), c.height, c.width,
                       c.channels};
  if (c.upside_down) {
    input.data += stride * (c.height - 1);
    input.stride = -input.stride;
  }
  PixelsToPlanes(input, c.mirror, scale.data(), offset.data(),
                 out.data() + c.alignment);
  for (int i = 0; i < c.alignment; ++i) ASSERT_EQ(out[i], kUntouched);
  ASSERT_EQ(out.back(), kUntouched);
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      for (int k = 0; k < c.channels; ++k) {
        const int from_y = c.upside_down ? c.height - 1 - y : y;
        const int from_x = c.mirror ? c.width - 1 - x : x;
        const double value = first[from_y * stride + from_x * c.channels + k];
        const double expected = value * scale[k] + offset[k];
        ASSERT_NEAR(out[c.alignment + k * plane + y * c.width + x], expected,
                    4e-7 * (1 + std::abs(value * scale[k])))
            << c.width << " wide, " << c.channels << " channels, " << x << ","
            << y << "," << k << " mirror " << c.mirror;
      }
    }
  }
}

TEST(FusedPlanesTest, EveryWidth) {
  for (int channels : {1, 2, 3, 4, 5, 9, 20}) {
    for (int width = 1; width < 150; ++width) {
      for (bool mirror : {false, true}) {
        ExpectAsInDoubles({2, width, channels, 0, 0, mirror});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FusedPlanesTest, PiecesOfNineChannels) {
  for (int width : {224, 255, 256, 257, 271, 512, 700}) {
    for (bool mirror : {false, true}) {
      ExpectAsInDoubles({2, width, 9, 0, 0, mirror});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FusedPlanesTest, AnyAlignmentAndStride) {
  for (int channels : {1, 3, 9}) {
    for (int alignment = 0; alignment < 17; ++alignment) {
      for (int gap : {0, 1, 7, 64}) {
        for (bool mirror : {false, true}) {
          ExpectAsInDoubles({3, 53, channels, gap, alignment, mirror});
          ExpectAsInDoubles({3, 53, channels, gap, alignment, mirror, true});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// A value must not depend on where in a row it stands, or batches would differ
// with the width of the processor's vectors.
TEST(FusedPlanesTest, TheSameValueGivesTheSameFloatAnywhere) {
  const float scale = 1 / (255 * 0.229f);
  const float offset = -0.485f / 0.229f;
  for (int value = 0; value < 256; ++value) {
    const std::vector<uint8_t> pixels(131, static_cast<uint8_t>(value));
    std::vector<float> out(131);
    PixelsToPlanes({pixels.data(), 131, 1, 131, 1}, false, &scale, &offset,
                   out.data());
    float alone = 0;
    PixelsToPlanes({pixels.data(), 1, 1, 1, 1}, true, &scale, &offset, &alone);
    for (float f : out) ASSERT_EQ(f, alone);
  }
}

}  // namespace
}  // namespace feedrate
