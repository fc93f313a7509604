#include "lib/media/jpeg_colour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace feedrate {
namespace {

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

TEST(JpegColourTest, WidensEveryPartOfARow) {
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

TEST(JpegColourTest, BlendsTwoRows) {
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

TEST(JpegColourTest, GreyIsThreeTimesTheSame) {
  const JpegRows rows = ChooseJpegRows();
  for (int width = 1; width < 40; ++width) {
    std::vector<uint8_t> y(width + kJpegRowMargin);
    for (int i = 0; i < width; ++i) y[i] = static_cast<uint8_t>(7 * i + 1);
    std::vector<uint8_t> rgb(3 * width);
    rows.grey_to_rgb(y.data(), width, rgb.data());
    for (int i = 0; i < 3 * width; ++i) ASSERT_EQ(rgb[i], y[i / 3]);
  }
}

// libjpeg's own formula, for all there is.
TEST(JpegColourTest, EveryColour) {
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
