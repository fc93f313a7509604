#include "lib/adapters/cuda/tone_math.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "lib/reference/color.h"
#include "lib/reference/pixels.h"

namespace feedrate::fused {
namespace {

Pixels AllValues() {
  Pixels image(1, 256, 1);
  for (int v = 0; v < 256; ++v) image.at(0, v, 0) = v;
  return image;
}

void ExpectTone(Tone tone, float amount, const Pixels& expected) {
  for (int v = 0; v < 256; ++v) {
    EXPECT_EQ(ToneOf(static_cast<uint8_t>(v), tone, amount),
              AsByte(expected.at(0, v, 0)))
        << v;
  }
}

TEST(ToneMathTest, TonesAreTheReference) {
  const Pixels image = AllValues();
  ExpectTone(Tone::kInvert, 0, Invert(image));
  for (int bits = 1; bits <= 8; ++bits) {
    ExpectTone(Tone::kPosterize, static_cast<float>(bits),
               Posterize(image, bits));
  }
  ExpectTone(Tone::kSolarize, 128, Solarize(image, 128));
  ExpectTone(Tone::kSolarize, 99.5f, Solarize(image, 99.5));
  ExpectTone(Tone::kMultiply, 1.25f, Multiply(image, 1.25));
}

TEST(ToneMathTest, BytesRoundHalvesToEven) {
  EXPECT_EQ(ToByte(0.5f), 0);
  EXPECT_EQ(ToByte(1.5f), 2);
  EXPECT_EQ(ToByte(2.5f), 2);
  EXPECT_EQ(ToByte(-3), 0);
  EXPECT_EQ(ToByte(300), 255);
  EXPECT_EQ(ToByte(254.6f), 255);
}

// The table of a histogram, as the kernel makes it.
std::array<int, 256> TableOf(const std::array<uint32_t, 256>& counts) {
  int greatest = 255;
  while (counts[greatest] == 0) --greatest;
  uint32_t pixels = 0;
  for (uint32_t count : counts) pixels += count;
  const uint32_t step = EqualizeStep(pixels, counts[greatest]);
  std::array<int, 256> table;
  uint32_t below = 0;
  for (int v = 0; v < 256; ++v) {
    table[v] = step == 0 ? v : EqualizedValue(below, step);
    below += counts[v];
  }
  return table;
}

TEST(ToneMathTest, EqualizeIsTheReference) {
  std::mt19937 random(3);
  for (const int range : {256, 100, 3, 1}) {
    Pixels image(70, 90, 1);
    std::array<uint32_t, 256> counts = {};
    for (double& value : image.values) {
      value = 20 + random() % range % 230;
      ++counts[static_cast<int>(value)];
    }
    const std::array<int, 256> table = TableOf(counts);
    const Pixels expected = EqualizeHistogram(image);
    for (size_t i = 0; i < image.values.size(); ++i) {
      ASSERT_EQ(table[static_cast<int>(image.values[i])], expected.values[i]);
    }
  }
}

}  // namespace
}  // namespace feedrate::fused
