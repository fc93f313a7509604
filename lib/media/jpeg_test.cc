#include "lib/media/jpeg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

Image Gradient(int height, int width) {
  Image image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t* pixel = image.row(y) + 3 * x;
      pixel[0] = static_cast<uint8_t>(2 * x);
      pixel[1] = static_cast<uint8_t>(2 * y);
      pixel[2] = static_cast<uint8_t>(255 - x - y);
    }
  }
  return image;
}

double MeanDifference(const Image& a, const Image& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size_bytes(); ++i) {
    sum += std::abs(a.data()[i] - b.data()[i]);
  }
  return sum / static_cast<double>(a.size_bytes());
}

TEST(JpegTest, ComesBackNearlyTheSame) {
  const Image image = Gradient(61, 83);
  for (Subsampling subsampling :
       {Subsampling::k444, Subsampling::k422, Subsampling::k420}) {
    const std::string jpeg =
        EncodeJpeg(image.view(), {95, subsampling}).value();
    const ImageInfo info = ReadJpegHeader(jpeg).value();
    EXPECT_EQ(info.height, 61);
    EXPECT_EQ(info.width, 83);
    EXPECT_EQ(info.channels, 3);
    Image decoded(61, 83, 3);
    ASSERT_TRUE(DecodeJpeg(jpeg, 61, 83, decoded.data()).ok());
    EXPECT_LT(MeanDifference(image, decoded), 1.5);
  }
}

TEST(JpegTest, LowerQualityIsSmaller) {
  const Image image = SyntheticPixels(1, 0);
  const size_t good = EncodeJpeg(image.view(), {95})->size();
  EXPECT_LT(EncodeJpeg(image.view(), {50})->size(), good / 2);
  EXPECT_GT(EncodeJpeg(image.view(), {95, Subsampling::k444})->size(), good);
}

TEST(JpegTest, ACutFileIsAnErrorWhereverItIsCut) {
  const std::string jpeg = EncodeJpeg(Gradient(40, 40).view(), {}).value();
  Image out(40, 40, 3);
  // All but the end mark itself: without it the pixels are still whole, but a
  // file that lost its end is not trusted.
  for (size_t length = 0; length < jpeg.size(); length += 7) {
    EXPECT_FALSE(DecodeJpeg(absl::string_view(jpeg).substr(0, length), 40, 40,
                            out.data())
                     .ok())
        << length;
  }
  EXPECT_THAT(
      std::string(DecodeJpeg(absl::string_view(jpeg).substr(0, jpeg.size() - 2),
                             40, 40, out.data())
                      .message()),
      HasSubstr("Premature end"));
}

TEST(JpegTest, DamagedDataIsAnError) {
  std::string jpeg = EncodeJpeg(SyntheticPixels(1, 0).view(), {}).value();
  const ImageInfo info = ReadJpegHeader(jpeg).value();
  // A restart mark where none belongs.
  jpeg[jpeg.size() / 2] = '\xff';
  jpeg[jpeg.size() / 2 + 1] = '\xd3';
  Image out(info.height, info.width, 3);
  EXPECT_FALSE(DecodeJpeg(jpeg, info.height, info.width, out.data()).ok());
}

TEST(JpegTest, BytesBetweenSegmentsAreHarmless) {
  std::string jpeg = EncodeJpeg(Gradient(16, 16).view(), {}).value();
  jpeg.insert(20, "xx");
  Image out(16, 16, 3);
  EXPECT_TRUE(DecodeJpeg(jpeg, 16, 16, out.data()).ok());
}

TEST(JpegTest, AHeaderMayNeedMoreBytes) {
  const std::string jpeg = EncodeJpeg(Gradient(16, 16).view(), {}).value();
  const absl::string_view bytes = jpeg;
  EXPECT_EQ(ReadJpegHeader(bytes.substr(0, 30)).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReadJpegHeader("GIF89a").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(JpegTest, AnotherSizeThanExpectedIsAnError) {
  const std::string jpeg = EncodeJpeg(Gradient(16, 16).view(), {}).value();
  std::vector<uint8_t> out(16 * 17 * 3);
  EXPECT_THAT(std::string(DecodeJpeg(jpeg, 16, 17, out.data()).message()),
              HasSubstr("another size"));
  EXPECT_FALSE(DecodeJpeg(jpeg, 8, 16, out.data()).ok());
}

TEST(JpegTest, ImpossibleImagesCannotBeEncoded) {
  EXPECT_THAT(
      std::string(EncodeJpeg({nullptr, 0, 5, 3}, {}).status().message()),
      HasSubstr("cannot encode"));
}

}  // namespace
}  // namespace feedrate
