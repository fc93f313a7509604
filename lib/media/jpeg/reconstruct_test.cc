#include "lib/media/jpeg/reconstruct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

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
    // Beyond that, processors overflow in different ways.
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

// The dispatcher's first answer used to be a function that chose again in every
// call: the same pixels, but fourteen times as slow in a virtual machine. First
// means before any test.
const JpegIdct first_choice = ChooseJpegIdct();

TEST(JpegIdctTest, WhatIsChosenIsTheTransformItself) {
  alignas(16) int16_t coefficients[64] = {};
  alignas(16) uint16_t factors[64] = {};
  uint8_t out[64];
  first_choice(coefficients, factors, out, 8);
  EXPECT_EQ(first_choice, ChooseJpegIdct());
}

// libjpeg's fancy upsampling, one sample after the other.
std::vector<uint8_t> WidenPlainly(const std::vector<uint8_t>& near,
                                  const std::vector<uint8_t>* far) {
  const int count = static_cast<int>(near.size());
  const auto sum = [&](int i) {
    i = std::min(count - 1, std::max(0, i));
    return far == nullptr ? near[i] : 3 * near[i] + (*far)[i];
  };
  std::vector<uint8_t> out;
  for (int i = 0; i < count; ++i) {
    if (far == nullptr) {
      out.push_back(static_cast<uint8_t>((3 * sum(i) + sum(i - 1) + 1) >> 2));
      out.push_back(static_cast<uint8_t>((3 * sum(i) + sum(i + 1) + 2) >> 2));
    } else {
      out.push_back(static_cast<uint8_t>((3 * sum(i) + sum(i - 1) + 8) >> 4));
      out.push_back(static_cast<uint8_t>((3 * sum(i) + sum(i + 1) + 7) >> 4));
    }
  }
  return out;
}

TEST(JpegColorTest, WidensEveryPartOfARow) {
  const JpegRows rows = ChooseJpegRows();
  constexpr int kCount = 37;
  std::mt19937 random(1);
  std::vector<uint8_t> near(kCount);
  std::vector<uint8_t> far(kCount);
  for (int i = 0; i < kCount; ++i) {
    near[i] = static_cast<uint8_t>(random());
    far[i] = static_cast<uint8_t>(random());
  }
  std::vector<uint8_t> near_room(kJpegRowMargin);
  near_room.insert(near_room.end(), near.begin(), near.end());
  near_room.resize(near_room.size() + kJpegRowMargin);
  std::vector<uint8_t> far_room(near_room.size());
  std::copy(far.begin(), far.end(), far_room.begin() + kJpegRowMargin);
  std::vector<uint16_t> sums(kCount + 2 * kJpegRowMargin);
  for (bool down : {false, true}) {
    const std::vector<uint8_t> whole =
        WidenPlainly(near, down ? &far : nullptr);
    for (int first = 0; first < kCount; ++first) {
      for (int end = first + 1; end <= kCount; ++end) {
        std::vector<uint8_t> out(2 * kCount + kJpegRowMargin);
        rows.widen(&near_room[kJpegRowMargin + first],
                   down ? &far_room[kJpegRowMargin + first] : nullptr,
                   end - first, {first == 0, end == kCount}, sums.data(),
                   out.data());
        for (int i = 0; i < 2 * (end - first); ++i) {
          ASSERT_EQ(out[i], whole[2 * first + i]) << first << " to " << end;
        }
      }
    }
  }
}

TEST(JpegColorTest, BlendsTwoRows) {
  const JpegRows rows = ChooseJpegRows();
  std::vector<uint8_t> near(256 + kJpegRowMargin);
  std::vector<uint8_t> far(near.size());
  std::vector<uint8_t> out(near.size());
  for (int other = 0; other < 256; ++other) {
    for (int i = 0; i < 256; ++i) near[i] = static_cast<uint8_t>(i);
    std::fill(far.begin(), far.end(), other);
    for (bool below : {false, true}) {
      rows.blend(near.data(), far.data(), 256, below, out.data());
      for (int i = 0; i < 256; ++i) {
        ASSERT_EQ(out[i], (3 * i + other + (below ? 2 : 1)) >> 2);
      }
    }
  }
}

TEST(JpegColorTest, GrayIsThreeTimesTheSame) {
  const JpegRows rows = ChooseJpegRows();
  for (int width = 1; width < 40; ++width) {
    std::vector<uint8_t> y(width + kJpegRowMargin);
    for (int i = 0; i < width; ++i) y[i] = static_cast<uint8_t>(7 * i + 1);
    std::vector<uint8_t> rgb(3 * width);
    rows.gray_to_rgb(y.data(), width, rgb.data());
    for (int i = 0; i < 3 * width; ++i) ASSERT_EQ(rgb[i], y[i / 3]);
  }
}

// libjpeg's own formula, for all values.
TEST(JpegColorTest, EveryColor) {
  const JpegRows rows = ChooseJpegRows();
  std::vector<uint8_t> y(256 + kJpegRowMargin);
  std::vector<uint8_t> cb(y.size());
  std::vector<uint8_t> cr(y.size());
  for (int i = 0; i < 256; ++i) y[i] = static_cast<uint8_t>(i);
  const auto limit = [](int v) { return std::min(255, std::max(0, v)); };
  std::vector<uint8_t> rgb(3 * 256);
  for (int b = 0; b < 256; ++b) {
    for (int r = 0; r < 256; ++r) {
      std::fill(cb.begin(), cb.end(), b);
      std::fill(cr.begin(), cr.end(), r);
      rows.to_rgb(y.data(), cb.data(), cr.data(), 256, rgb.data());
      const int red = (91881 * (r - 128) + 32768) >> 16;
      const int green = (-22554 * (b - 128) - 46802 * (r - 128) + 32768) >> 16;
      const int blue = (116130 * (b - 128) + 32768) >> 16;
      for (int i = 0; i < 256; i += 3) {
        ASSERT_EQ(rgb[3 * i], limit(i + red)) << b << " " << r;
        ASSERT_EQ(rgb[3 * i + 1], limit(i + green)) << b << " " << r;
        ASSERT_EQ(rgb[3 * i + 2], limit(i + blue)) << b << " " << r;
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
