#include "lib/loader/normalise.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

constexpr int kHeight = 5, kWidth = 37;
const std::vector<double> kMean = {0.485, 0.456, 0.406};
const std::vector<double> kStd = {0.229, 0.224, 0.225};

std::vector<uint8_t> Bytes(int channels) {
  std::vector<uint8_t> bytes(kHeight * kWidth * channels);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i * 37 % 256;
  return bytes;
}

// `y` and `x` of the input that shall be at `y` and `x` of the output.
void Check(const std::vector<uint8_t>& bytes, const PixelView& image,
           int planes, bool mirror, bool upside_down) {
  const Normalisation how = MakeNormalisation(kMean, kStd, 255, planes);
  std::vector<float> out(kHeight * kWidth * planes);
  NormaliseToPlanes(image, mirror, how, out.data());
  for (int c = 0; c < planes; ++c) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int from_y = upside_down ? kHeight - 1 - y : y;
        const int from_x = mirror ? kWidth - 1 - x : x;
        const int n = image.channels;
        const double value =
            bytes[(from_y * kWidth + from_x) * n + c % n] / 255.0;
        ASSERT_NEAR(out[(c * kHeight + y) * kWidth + x],
                    (value - kMean[c % 3]) / kStd[c % 3], 1e-5)
            << c << " " << y << " " << x;
      }
    }
  }
}

PixelView View(const std::vector<uint8_t>& bytes, int channels) {
  PixelView view;
  view.data = bytes.data();
  view.stride = kWidth * channels;
  view.height = kHeight;
  view.width = kWidth;
  view.channels = channels;
  return view;
}

TEST(NormaliseTest, ThreeChannels) {
  const std::vector<uint8_t> bytes = Bytes(3);
  Check(bytes, View(bytes, 3), 3, false, false);
  Check(bytes, View(bytes, 3), 3, true, false);
}

TEST(NormaliseTest, ANegativeStrideStandsOnItsHead) {
  const std::vector<uint8_t> bytes = Bytes(3);
  PixelView view = View(bytes, 3);
  view.data += (kHeight - 1) * view.stride;
  view.stride = -view.stride;
  Check(bytes, view, 3, true, true);
}

TEST(NormaliseTest, NineChannels) {
  const std::vector<uint8_t> nine = Bytes(9);
  Check(nine, View(nine, 9), 9, false, false);
  Check(nine, View(nine, 9), 9, true, false);
  const std::vector<uint8_t> three = Bytes(3);
  Check(three, View(three, 3), 9, true, false);
}

TEST(NormaliseTest, OneChannel) {
  const std::vector<uint8_t> bytes = Bytes(1);
  Check(bytes, View(bytes, 1), 3, false, false);
}

}  // namespace
}  // namespace feedrate
