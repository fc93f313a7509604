#include "lib/media/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "lib/hash/sha256.h"
#include "lib/media/image_file.h"
#include "lib/media/item_ids.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Runs on different machines share these bytes: changing them changes every
// published number on synthetic data.
TEST(SyntheticTest, BytesAreTheSameOnEveryMachine) {
  EXPECT_EQ(Sha256Hex(SyntheticJpeg(1, 0)),
            "57f96751022d27a66885376c04e9cfb25a255557339e480bb16bde4e4bdfe3d3");
  EXPECT_EQ(Sha256Hex(SyntheticJpeg(1, 1)),
            "3d1f1b8e31fef44c2126258a6b485edc194a6912abbf3b8f937620466e05a796");
  EXPECT_EQ(Sha256Hex(SyntheticJpeg(1, 1999)),
            "91fed40e291250bb07cd5b523afa0d195e047968393d2654552fba623e0deb6d");
  EXPECT_EQ(Sha256Hex(SyntheticJpeg(0xfeedfacecafe, 123456789)),
            "126936d77e10d1219597b8d8e764781bc88d4a44d222d95f77fe20ed5104ae23");
}

// Audits of loaders stand on this.
TEST(ItemIdsTest, AJpegShowsItsIdAfterACropAndAFlip) {
  for (int64_t id = 0; id < kItemIds; id += 13) {
    absl::StatusOr<Image> image = DecodeImage(ItemIdJpeg(id));
    ASSERT_TRUE(image.ok()) << image.status();
    for (const int size : {224, 8}) {
      EXPECT_EQ(IdOfPicture(size, size,
                            [&](int c, int y, int x) -> double {
                              const int column = image->width() - 1 - x;
                              return image->row(y + 17)[3 * column + c];
                            }),
                id);
    }
  }
}

TEST(ItemIdsTest, ColorsThatShowNoIdAreFound) {
  for (int64_t id = 0; id < kItemIds; ++id) {
    const auto color = ItemIdColor(id);
    ASSERT_EQ(IdOfColor({color[0] + 3.0, color[1] - 3.0, color[2] * 1.0}), id);
    // The next level of one channel is another id, or none.
    ASSERT_NE(IdOfColor({color[0] + 8.0, color[1] * 1.0, color[2] * 1.0}), id);
  }
  EXPECT_EQ(IdOfColor({0, 0, 0}), std::nullopt);
  EXPECT_EQ(IdOfColor({300, 4, 4}), std::nullopt);
  EXPECT_EQ(IdOfColor({NAN, 4, 4}), std::nullopt);
}

TEST(ItemIdsTest, IsASyntheticDataSet) {
  const auto spec = ParseSynthetic("synthetic:ids,n=7");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->n, 7);
  EXPECT_EQ(SyntheticFile(*spec, 5), ItemIdJpeg(5));
  for (const char* wrong : {"synthetic:ids,n=5000", "synthetic:ids,seed=1"}) {
    EXPECT_FALSE(ParseSynthetic(wrong).ok()) << wrong;
  }
}

TEST(SyntheticTest, FilesDecodeToTheirSizeAndLookLikeThePixels) {
  for (int64_t i = 0; i < 8; ++i) {
    const ImageInfo size = SyntheticSize(7, i);
    const Image pixels = SyntheticPixels(7, i);
    const absl::StatusOr<Image> decoded = DecodeImage(SyntheticJpeg(7, i));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_EQ(decoded->height(), size.height);
    ASSERT_EQ(decoded->width(), size.width);
    double sum = 0;
    for (size_t b = 0; b < pixels.size_bytes(); ++b) {
      sum += std::abs(pixels.data()[b] - decoded->data()[b]);
    }
    EXPECT_LT(sum / static_cast<double>(pixels.size_bytes()), 6);
  }
}

TEST(SyntheticTest, ImagesDifferByIndexAndSeed) {
  EXPECT_NE(SyntheticJpeg(1, 2), SyntheticJpeg(1, 3));
  EXPECT_NE(SyntheticJpeg(1, 2), SyntheticJpeg(2, 2));
}

TEST(SyntheticTest, SizesAreLikeThoseOfWebAlbums) {
  std::map<std::pair<int, int>, int> counts;
  constexpr int kImages = 20000;
  for (int64_t i = 0; i < kImages; ++i) {
    const ImageInfo size = SyntheticSize(1, i);
    ++counts[{size.width, size.height}];
    ASSERT_GE(std::min(size.width, size.height), 75);
    ASSERT_LE(std::max(size.width, size.height), 1600);
  }
  EXPECT_NEAR((counts[{500, 375}]) / double{kImages}, 112 / 256.0, 0.02);
  EXPECT_NEAR((counts[{375, 500}]) / double{kImages}, 32 / 256.0, 0.01);
  EXPECT_GT(counts.size(), 100);
}

TEST(SyntheticTest, FilesAreAbout110KilobytesAt500x375) {
  std::vector<double> sizes(200);
  ParallelFor(200, 0, [&](int64_t i) {
    const ImageInfo size = SyntheticSize(1, i);
    if (size.width == 500 && size.height == 375) {
      sizes[i] = static_cast<double>(SyntheticJpeg(1, i).size());
    }
  });
  double sum = 0;
  int count = 0;
  for (double size : sizes) {
    sum += size;
    if (size > 0) ++count;
  }
  ASSERT_GT(count, 50);
  EXPECT_NEAR(sum / count, 110e3, 10e3);
}

// Mean square of the difference between pixels `distance` apart. In
// photographs, neighboring pixels are similar and distant ones are not; in
// noise, neither are.
double Roughness(const Image& image, int distance) {
  double sum = 0;
  int64_t count = 0;
  for (int y = 0; y < image.height(); ++y) {
    const uint8_t* row = image.view().row(y);
    for (int x = 0; x + distance < image.width(); ++x, ++count) {
      const double d = row[3 * x + 1] - row[3 * (x + distance) + 1];
      sum += d * d;
    }
  }
  return sum / static_cast<double>(count);
}

TEST(SyntheticTest, NeighborsAreAlikeAndDistantPixelsAreNot) {
  double ratio = 0;
  constexpr int kImages = 20;
  for (int64_t i = 0; i < kImages; ++i) {
    const Image image = SyntheticPixels(3, i);
    const double near = Roughness(image, 1);
    EXPECT_GT(near, 10) << i;  // Texture and sensor noise are there.
    ratio += std::log2(Roughness(image, 64) / near) / kImages;
  }
  // White noise: 0.
  EXPECT_GT(ratio, 2);
}

TEST(SyntheticTest, NamesSortByIndex) {
  EXPECT_EQ(SyntheticName(42), "synthetic_00000042.jpg");
  EXPECT_LT(SyntheticName(9), SyntheticName(10));
}

TEST(ParseSyntheticTest, ReadsParameters) {
  EXPECT_TRUE(IsSynthetic("synthetic:rgb"));
  EXPECT_FALSE(IsSynthetic("/data/synthetic:rgb"));
  EXPECT_EQ(ParseSynthetic("synthetic:rgb")->n, 0);
  EXPECT_EQ(ParseSynthetic("synthetic:rgb")->seed, 1);
  const SyntheticSpec spec = *ParseSynthetic("synthetic:9ch,seed=77,n=20");
  EXPECT_EQ(spec.n, 20);
  EXPECT_EQ(spec.seed, 77);
}

TEST(ParseSyntheticTest, SaysWhatIsWrong) {
  const struct {
    const char* dataset;
    const char* reason;
  } kCases[] = {
      {"synthetic:", "names no kind"},
      {"synthetic:video", "only rgb, 9ch and ids"},
      {"synthetic:rgb,n", "not a parameter"},
      {"synthetic:rgb,n=0", "above 0"},
      {"synthetic:rgb,n=-3", "above 0"},
      {"synthetic:rgb,n=1e3", "above 0"},
      {"synthetic:rgb,seed=x", "64 bits"},
      {"synthetic:rgb,size=3", "\"size\" is unknown"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(std::string(ParseSynthetic(c.dataset).status().message()),
                HasSubstr(c.reason))
        << c.dataset;
  }
}

}  // namespace
}  // namespace feedrate
