#include "lib/loader/mixture/frame_decoder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

// What resize_with_crop_or_pad makes of a whole decoded image.
std::vector<uint8_t> Expected(const std::vector<uint8_t>& rgb, int height,
                              int width, const FrameShape& shape) {
  std::vector<uint8_t> out(shape.bytes(), 0);
  const int from_y = std::max((height - shape.height) / 2, 0);
  const int from_x = std::max((width - shape.width) / 2, 0);
  const int to_y = std::max((shape.height - height) / 2, 0);
  const int to_x = std::max((shape.width - width) / 2, 0);
  for (int y = 0; y < std::min(height, shape.height); ++y) {
    for (int x = 0; x < 3 * std::min(width, shape.width); ++x) {
      out[(to_y + y) * 3 * shape.width + 3 * to_x + x] =
          rgb[(from_y + y) * 3 * width + 3 * from_x + x];
    }
  }
  return out;
}

TEST(FrameDecoderTest, CropsAndPadsAroundTheCentre) {
  FrameDecoder decoder;
  for (const auto& [height, width] : std::vector<std::tuple<int, int>>{
           {32, 32}, {64, 48}, {16, 16}, {65, 17}, {15, 49}, {33, 32}}) {
    const std::string jpeg = TestJpeg(height, width, 5);
    std::vector<uint8_t> rgb(3 * height * width);
    ASSERT_TRUE(DecodeJpeg(jpeg, height, width, rgb.data()).ok());
    const FrameShape shape = {32, 32};
    // What an earlier frame has left must be gone.
    std::vector<uint8_t> out(shape.bytes(), 77);
    ASSERT_TRUE(decoder.Decode(jpeg, shape, out.data()).ok());
    EXPECT_EQ(out, Expected(rgb, height, width, shape))
        << height << " x " << width;
  }
}

TEST(FrameDecoderTest, RefusesWhatIsNoJpeg) {
  FrameDecoder decoder;
  std::vector<uint8_t> out(3 * 32 * 32);
  EXPECT_FALSE(decoder.Decode("", {32, 32}, out.data()).ok());
  EXPECT_FALSE(decoder.Decode("nothing", {32, 32}, out.data()).ok());
  const std::string jpeg = TestJpeg(32, 32, 1);
  EXPECT_FALSE(
      decoder.Decode(jpeg.substr(0, jpeg.size() / 2), {32, 32}, out.data())
          .ok());
}

}  // namespace
}  // namespace feedrate
