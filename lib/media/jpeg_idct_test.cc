#include "lib/media/jpeg_idct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace feedrate {
namespace {

// jidctint.c of libjpeg in plain integers, for numbers that do not overflow.
void OneDimension(const int64_t* in, int step, int shift, int64_t* out) {
  int64_t copy[8];
  for (int i = 0; i < 8; ++i) copy[i] = in[i * step];
  const auto at = [&](int i) { return copy[i]; };
  const int64_t turned = (at(2) + at(6)) * 4433;
  const int64_t even2 = turned - at(6) * 15137;
  const int64_t even3 = turned + at(2) * 6270;
  const int64_t even0 = (at(0) + at(4)) * 8192;
  const int64_t even1 = (at(0) - at(4)) * 8192;
  const int64_t even[4] = {even0 + even3, even1 + even2, even1 - even2,
                           even0 - even3};
  const int64_t z5 = (at(7) + at(3) + at(5) + at(1)) * 9633;
  const int64_t z3 = (at(7) + at(3)) * -16069 + z5;
  const int64_t z4 = (at(5) + at(1)) * -3196 + z5;
  const int64_t z1 = (at(7) + at(1)) * -7373;
  const int64_t z2 = (at(5) + at(3)) * -20995;
  const int64_t odd[4] = {at(1) * 12299 + z1 + z4, at(3) * 25172 + z2 + z3,
                          at(5) * 16819 + z2 + z4, at(7) * 2446 + z1 + z3};
  for (int i = 0; i < 4; ++i) {
    const int64_t half = int64_t{1} << (shift - 1);
    out[i * step] = (even[i] + odd[i] + half) >> shift;
    out[(7 - i) * step] = (even[i] - odd[i] + half) >> shift;
  }
}

TEST(JpegIdctTest, IsLibjpegs) {
  const JpegIdct idct = ChooseJpegIdct();
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    alignas(16) int16_t coefficients[64] = {};
    alignas(16) uint16_t factors[64];
    int64_t values[64];
    const int most = 1 + static_cast<int>(random() % 64);
    for (int i = 0; i < 64; ++i) {
      factors[i] = static_cast<uint16_t>(1 + random() % 20);
      if (static_cast<int>(random() % 64) < most) {
        coefficients[i] =
            static_cast<int16_t>(static_cast<int>(random() % 201) - 100) /
            (1 + i / 4);
      }
      values[i] = int64_t{coefficients[i]} * factors[i];
    }
    for (int x = 0; x < 8; ++x) OneDimension(values + x, 8, 11, values + x);
    for (int y = 0; y < 8; ++y) {
      OneDimension(values + 8 * y, 1, 18, values + 8 * y);
    }
    uint8_t out[8][24];
    idct(coefficients, factors, &out[0][0], 24);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const int64_t expected = std::min<int64_t>(
            255, std::max<int64_t>(0, values[8 * y + x] + 128));
        ASSERT_EQ(out[y][x], expected) << round << ": " << x << "," << y;
      }
    }
  }
}

TEST(JpegIdctTest, FlatBlocksAreWhatTheTransformMakesOfThem) {
  const JpegIdct idct = ChooseJpegIdct();
  alignas(16) int16_t coefficients[64] = {};
  alignas(16) uint16_t factors[64];
  for (int factor : {1, 3, 16, 255}) {
    std::fill(factors, factors + 64, factor);
    // Beyond that kinds of processors overflow in ways of their own.
    const int most = std::min(2047, 8191 / factor);
    for (int value = -most; value <= most; ++value) {
      coefficients[0] = static_cast<int16_t>(value);
      uint8_t out[8][24];
      idct(coefficients, factors, &out[0][0], 24);
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
          ASSERT_EQ(out[y][x], JpegFlatSample(coefficients[0], factor))
              << value << " x " << factor;
        }
      }
    }
  }
}

// The dispatcher's first answer used to be a function that chose anew in every
// call: the same pixels, for fourteen times the time in a virtual machine.
// First means before any test.
const JpegIdct first_choice = ChooseJpegIdct();

TEST(JpegIdctTest, WhatIsChosenIsTheTransformItself) {
  alignas(16) int16_t coefficients[64] = {};
  alignas(16) uint16_t factors[64] = {};
  uint8_t out[64];
  first_choice(coefficients, factors, out, 8);
  EXPECT_EQ(first_choice, ChooseJpegIdct());
}

}  // namespace
}  // namespace feedrate
