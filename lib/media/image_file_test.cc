#include "lib/media/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "lib/base/files.h"
#include "lib/media/image.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr int kHeight = 12;
constexpr int kWidth = 17;

std::string Bytes(const std::string& name) {
  return ReadFile("lib/media/testdata/" + name).value();
}

// The picture that all files in testdata show.
uint8_t Expected(int y, int x, int c) {
  return static_cast<uint8_t>(c == 0 ? x * 15 : c == 1 ? y * 20 : x * y);
}

TEST(ImageFileTest, PngsComeOutExactly) {
  for (const char* name :
       {"rgb.png", "rgba.png", "deep.png", "interlaced.png"}) {
    const absl::StatusOr<Image> image = DecodeImage(Bytes(name));
    ASSERT_TRUE(image.ok()) << name << ": " << image.status();
    ASSERT_EQ(image->height(), kHeight);
    ASSERT_EQ(image->width(), kWidth);
    for (int i = 0; i < kHeight * kWidth * 3; ++i) {
      ASSERT_EQ(image->data()[i],
                Expected(i / 3 / kWidth, i / 3 % kWidth, i % 3))
          << name << " " << i;
    }
  }
}

TEST(ImageFileTest, JpegsAndPalettesComeOutNearly) {
  for (const char* name :
       {"photo.jpg", "progressive.jpg", "rotated.jpg", "palette.png"}) {
    const absl::StatusOr<Image> image = DecodeImage(Bytes(name));
    ASSERT_TRUE(image.ok()) << name << ": " << image.status();
    // The file says that it should be turned; it is not.
    ASSERT_EQ(image->height(), kHeight) << name;
    double sum = 0;
    for (int i = 0; i < kHeight * kWidth * 3; ++i) {
      sum += std::abs(image->data()[i] -
                      Expected(i / 3 / kWidth, i / 3 % kWidth, i % 3));
    }
    EXPECT_LT(sum / (kHeight * kWidth * 3), 24) << name;
  }
}

TEST(ImageFileTest, OthersAreRefusedWithAReason) {
  const struct {
    const char* name;
    const char* reason;
  } kCases[] = {
      {"grey.jpg", "grey"},         {"grey.png", "grey"},
      {"cmyk.jpg", "CMYK"},         {"other.webp", "WebP"},
      {"other.bmp", "BMP"},         {"truncated.jpg", "Premature end"},
      {"truncated.png", "cut off"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<Image> image = DecodeImage(Bytes(c.name));
    EXPECT_THAT(std::string(image.status().message()), HasSubstr(c.reason))
        << c.name;
  }
  EXPECT_THAT(std::string(DecodeImage("").status().message()),
              HasSubstr("empty"));
  EXPECT_THAT(std::string(DecodeImage("words").status().message()),
              HasSubstr("neither"));
}

TEST(ImageFileTest, ClaimsOfGiganticImagesAreRefused) {
  std::string png = Bytes("rgb.png");
  png[16] = 0x7f;  // The first byte of the width.
  EXPECT_THAT(std::string(ReadImageHeader(png).status().message()),
              HasSubstr("limit"));
  png[16] = '\xff';
  EXPECT_FALSE(ReadImageHeader(png).ok());
}

TEST(ImageFileTest, HeadersOfPngsNeedTheirLength) {
  const std::string png = Bytes("rgb.png");
  EXPECT_EQ(ReadImageHeader(png.substr(0, 32)).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(ReadImageHeader(png.substr(0, 33)).ok());
}

TEST(ImageFileTest, APngOfAnotherSizeIsRefused) {
  Image image(kHeight, kWidth + 1, 3);
  EXPECT_THAT(std::string(DecodeImageInto(Bytes("rgb.png"), kHeight, kWidth + 1,
                                          image.data())
                              .message()),
              HasSubstr("another size"));
}

TEST(ImageFileTest, DamagedPngsAreRefused) {
  std::string png = Bytes("rgb.png");
  png[png.size() / 2] ^= 1;  // Caught by the checksum.
  EXPECT_FALSE(DecodeImage(png).ok());
}

}  // namespace
}  // namespace feedrate
