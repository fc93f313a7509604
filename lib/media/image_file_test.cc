#include "lib/media/image_file.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/hash/sha256.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kHeight = 12;
constexpr int kWidth = 17;

std::string Bytes(const std::string& name) {
  return ReadFile("lib/media/testdata/" + name).value();
}

// The picture in all files of testdata.
uint8_t Expected(int y, int x, int c) {
  return static_cast<uint8_t>(c == 0 ? x * 15 : c == 1 ? y * 20 : x * y);
}

TEST(ImageFileTest, PngsAndBmpsComeOutExactly) {
  for (const char* name :
       {"rgb.png", "rgba.png", "deep.png", "interlaced.png", "other.bmp"}) {
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
  for (const char* name : {"photo.jpg", "progressive.jpg", "rotated.jpg",
                           "palette.png", "other.webp"}) {
    const absl::StatusOr<Image> image = DecodeImage(Bytes(name));
    ASSERT_TRUE(image.ok()) << name << ": " << image.status();
    // The file asks for a rotation, which is not applied.
    ASSERT_EQ(image->height(), kHeight) << name;
    double sum = 0;
    for (int i = 0; i < kHeight * kWidth * 3; ++i) {
      sum += std::abs(image->data()[i] -
                      Expected(i / 3 / kWidth, i / 3 % kWidth, i % 3));
    }
    EXPECT_LT(sum / (kHeight * kWidth * 3), 24) << name;
  }
}

// testdata/media has what Pillow reads from each file.
TEST(ImageFileTest, RareKindsAreReadAsByPillow) {
  const std::string folder = "testdata/media/";
  const std::string table = ReadFile(folder + "images.txt").value();
  int images = 0;
  for (absl::string_view line :
       absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_EQ(words.size(), 4);
    const absl::StatusOr<Image> image =
        DecodeImage(ReadFile(folder + words[0]).value());
    ASSERT_TRUE(image.ok()) << words[0] << ": " << image.status();
    EXPECT_EQ(absl::StrCat(image->height()), words[1]) << words[0];
    EXPECT_EQ(absl::StrCat(image->width()), words[2]) << words[0];
    EXPECT_EQ(
        Sha256Hex(std::string(reinterpret_cast<const char*>(image->data()),
                              image->size_bytes())),
        words[3])
        << words[0];
    ++images;
  }
  EXPECT_GE(images, 40);
}

TEST(ImageFileTest, OtherFormatsAreRefusedWhereverTheyAreCut) {
  for (const char* name :
       {"webp_lossy.webp", "webp_lossless_alpha.webp", "webp_alpha.webp",
        "bmp_24.bmp", "bmp_4.bmp", "bmp_565.bmp", "bmp_8_os2.bmp", "pgm.pgm"}) {
    const std::string bytes =
        ReadFile(std::string("testdata/media/") + name).value();
    ASSERT_TRUE(DecodeImage(bytes).ok()) << name;
    EXPECT_TRUE(DecodeImage(bytes + "more").ok()) << name;
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(DecodeImage(bytes.substr(0, length)).ok())
          << name << " " << length;
    }
    std::vector<uint8_t> out(14 * 11 * 3);
    EXPECT_THAT(
        std::string(DecodeImageInto(bytes, 11, 14, out.data()).message()),
        HasSubstr("another size"));
  }
}

TEST(ImageFileTest, NamesOfImagesHaveTheEndingsOfWhatIsRead) {
  for (const char* name :
       {"a.jpg", "b/a.JPEG", "x.tif.png", "a.WebP", "a.bmp", "a.pgm", ".ppm"}) {
    EXPECT_TRUE(IsImageName(name)) << name;
  }
  for (const char* name : {"", "jpg", "a.tif", "a.jpg.txt", "a.npy"}) {
    EXPECT_FALSE(IsImageName(name)) << name;
  }
}

TEST(ImageFileTest, OthersAreRefusedWithAReason) {
  const struct {
    const char* name;
    const char* reason;
  } kCases[] = {
      {"animated.webp", "is animated; only still images are read"},
      {"truncated.jpg", "Premature end"},
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
              HasSubstr("unknown format"));
  EXPECT_THAT(std::string(DecodeImage("GIF89a").status().message()),
              HasSubstr("GIF, where JPEG, PNG, WebP, BMP"));
  std::string bmp = Bytes("other.bmp");
  bmp[30] = 1;  // The compression.
  EXPECT_THAT(std::string(DecodeImage(bmp).status().message()),
              HasSubstr("compressed"));
  EXPECT_THAT(std::string(DecodeImage("P5 1 1 65535\n12").status().message()),
              HasSubstr("largest value is 65535"));
}

TEST(ImageFileTest, ClaimsOfGiganticImagesAreRefused) {
  std::string png = Bytes("rgb.png");
  png[16] = 0x7f;  // The first byte of the width.
  EXPECT_THAT(std::string(ReadImageHeader(png).status().message()),
              HasSubstr("limit"));
  png[16] = '\xff';
  EXPECT_FALSE(ReadImageHeader(png).ok());
  std::string bmp = Bytes("other.bmp");
  bmp[21] = 0x7f;  // The last byte of the width.
  EXPECT_THAT(std::string(ReadImageHeader(bmp).status().message()),
              HasSubstr("limit"));
  EXPECT_THAT(
      std::string(ReadImageHeader("P6 99999 99999 255\n").status().message()),
      HasSubstr("limit"));
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

std::string Npy(const std::string& type, const std::string& shape,
                const std::string& data) {
  std::string header = absl::StrCat(
      "{'descr': '", type, "', 'fortran_order': False, 'shape': ", shape, "}");
  return absl::StrCat(std::string("\x93NUMPY\x01\x00", 8),
                      std::string(1, static_cast<char>(header.size())),
                      std::string(1, '\0'), header, data);
}

TEST(NpyTest, ViewsWithoutACopy) {
  const std::string file = Npy("|u1", "(2, 1, 3)", "abcdef");
  ASSERT_TRUE(IsNpy(file));
  const auto view = ViewNpy(file);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->dtype, "uint8");
  EXPECT_THAT(view->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(view->data, "abcdef");
  EXPECT_EQ(view->data.data(), file.data() + file.size() - 6);
}

TEST(NpyTest, PrintsWhatItViews) {
  const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
  const std::string file = PrintNpy({pixels, 2, 1, 3});
  const auto view = ViewNpy(file);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->dtype, "uint8");
  EXPECT_THAT(view->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(view->data, "\1\2\3\4\5\6");
  EXPECT_EQ((file.size() - 6) % 64, 0);
}

TEST(NpyTest, Bytes) {
  const std::string file = Npy("|u1", "(1, 2, 3)", "abcdef");
  const auto array = ViewNpy(file);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, "uint8");
  EXPECT_THAT(array->shape, ElementsAre(1, 2, 3));
  EXPECT_EQ(array->data, "abcdef");
}

TEST(NpyTest, Floats) {
  const std::string file = Npy("<f4", "(2,)", "12345678");
  const auto array = ViewNpy(file);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, "float32");
  EXPECT_THAT(array->shape, ElementsAre(2));
}

TEST(NpyTest, RefusesOtherFiles) {
  const std::string good = Npy("|u1", "(2, 3)", "abcdef");
  ASSERT_TRUE(ViewNpy(good).ok());
  EXPECT_FALSE(ViewNpy("").ok());
  EXPECT_FALSE(ViewNpy("P6 1 1 255 abcdef").ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ViewNpy(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ViewNpy(good + "g").ok());
  EXPECT_FALSE(ViewNpy(Npy("<f8", "(1,)", "12345678")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(-1, 3)", "abc")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(x)", "abc")).ok());
}

TEST(NpyTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(IsNpy("\xff\xd8\xff"));
  EXPECT_FALSE(ViewNpy("").ok());
  EXPECT_FALSE(ViewNpy(Npy("<i8", "(1,)", "12345678")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(2, 1, 3)", "abcde")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(-2,)", "")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(2,)", "ab").substr(0, 20)).ok());
}

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
  // Everything but the end marker: the pixels are still complete, but a
  // truncated file is not trusted.
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
  // A restart marker where none belongs.
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
