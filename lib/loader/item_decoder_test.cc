#include "lib/loader/item_decoder.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

void ExpectWindow(const ImageView& image, const DecodeWindow& window,
                  const PixelView& pixels) {
  ASSERT_EQ(pixels.height, window.height);
  ASSERT_EQ(pixels.width, window.width);
  ASSERT_EQ(pixels.channels, image.channels);
  for (int y = 0; y < window.height; ++y) {
    const uint8_t* const want =
        image.row(window.y + y) + window.x * image.channels;
    const uint8_t* const got = pixels.data + y * pixels.stride;
    for (int x = 0; x < window.width * image.channels; ++x) {
      ASSERT_EQ(got[x], want[x]) << y << " " << x;
    }
  }
}

TEST(ItemDecoderTest, AWindowOfAJpegIsThatOfTheWhole) {
  ItemDecoder decoder;
  for (int number = 0; number < 3; ++number) {
    const std::string file = TestJpeg(40 + number, 50, number);
    const Image whole = *DecodeImage(file);
    const auto info = decoder.Open(file);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->height, 40 + number);
    const DecodeWindow window = {7, 5, 30, 20};
    const auto pixels = decoder.Decode(window);
    ASSERT_TRUE(pixels.ok()) << pixels.status();
    ExpectWindow(whole.view(), window, *pixels);
  }
}

TEST(ItemDecoderTest, ArraysAreNotDecoded) {
  const Image image = TestImage(20, 30, 1, 9);
  const std::string file = TestNpy(image);
  ItemDecoder decoder;
  const auto info = decoder.Open(file);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->channels, 9);
  const DecodeWindow window = {3, 4, 10, 12};
  const auto pixels = decoder.Decode(window);
  ASSERT_TRUE(pixels.ok()) << pixels.status();
  ExpectWindow(image.view(), window, *pixels);
  EXPECT_GE(reinterpret_cast<const char*>(pixels->data), file.data());
  EXPECT_LT(reinterpret_cast<const char*>(pixels->data),
            file.data() + file.size());
}

TEST(ItemDecoderTest, WritesToTheCallersMemory) {
  ItemDecoder decoder;
  const DecodeWindow window = {7, 5, 30, 20};
  const std::string jpeg = TestJpeg(40, 50, 1);
  for (const bool is_jpeg : {true, false}) {
    const std::string file = is_jpeg ? jpeg : TestNpy(TestImage(40, 50, 1));
    const Image whole = is_jpeg ? *DecodeImage(jpeg) : TestImage(40, 50, 1);
    ASSERT_TRUE(decoder.Open(file).ok());
    // One row more, which stays as it is.
    std::vector<uint8_t> pixels(21 * 30 * 3, 77);
    const absl::Status decoded = decoder.DecodeInto(window, pixels.data());
    ASSERT_TRUE(decoded.ok()) << decoded;
    PixelView view;
    view.data = pixels.data();
    view.stride = 30 * 3;
    view.height = 20;
    view.width = 30;
    view.channels = 3;
    ExpectWindow(whole.view(), window, view);
    for (size_t i = 20 * 30 * 3; i < pixels.size(); ++i) {
      ASSERT_EQ(pixels[i], 77);
    }
  }
}

TEST(ItemDecoderTest, AShrunkWindowCoversTheSamePlace) {
  const std::string file = TestJpeg(64, 80, 2);
  ItemDecoder decoder;
  ASSERT_TRUE(decoder.Open(file).ok());
  const auto pixels = decoder.Decode({16, 8, 33, 40}, 2);
  ASSERT_TRUE(pixels.ok()) << pixels.status();
  EXPECT_EQ(pixels->width, 17);
  EXPECT_EQ(pixels->height, 20);
}

TEST(ItemDecoderTest, RefusesWhatIsNoItem) {
  ItemDecoder decoder;
  EXPECT_TRUE(absl::IsInvalidArgument(decoder.Open("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(decoder.Open("GIF89a").status()));
  const std::string flat = TestNpy(Image(1, 0, 3));
  EXPECT_THAT(std::string(decoder.Open(flat).status().message()),
              HasSubstr("(height, width, channels)"));
  std::string cut = TestJpeg(40, 50, 0);
  cut.resize(cut.size() / 2);
  const auto info = decoder.Open(cut);
  EXPECT_FALSE(info.ok() && decoder.Decode({0, 0, 50, 40}).ok());
  // And goes on with the next.
  const std::string good = TestJpeg(40, 50, 0);
  ASSERT_TRUE(decoder.Open(good).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 50, 40}).ok());
}

}  // namespace
}  // namespace feedrate
