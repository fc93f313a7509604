#include "lib/media/jpeg_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg.h"
#include "lib/media/jpeg_arena.h"
#include "lib/media/jpeg_test_files.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string Text(const JpegRegion& r) {
  return absl::StrCat(r.width, "x", r.height, "+", r.x, "+", r.y);
}

// The region in rows with a gap between them, which must stay as it was.
void ExpectSame(const JpegRegion& region, const JpegRegionOptions& options,
                const Image& whole, JpegRegionDecoder* decoder) {
  const size_t row = size_t{3} * region.width;
  const size_t stride = row + 5;
  std::vector<uint8_t> out(stride * region.height, 0xaa);
  const absl::Status status =
      decoder->Decode(region, options, out.data(), stride);
  ASSERT_TRUE(status.ok()) << status << " " << Text(region);
  for (int y = 0; y < region.height; ++y) {
    const uint8_t* expected =
        whole.view().row(region.y + y) + size_t{3} * region.x;
    const uint8_t* actual = &out[y * stride];
    ASSERT_EQ(std::memcmp(actual, expected, row), 0)
        << "row " << y << " of " << Text(region);
    ASSERT_EQ(std::count(actual + row, actual + stride, 0xaa), 5);
  }
}

std::vector<JpegRegion> Regions(int width, int height, uint32_t seed,
                                int count) {
  std::vector<JpegRegion> regions = {{0, 0, width, height},
                                     {0, 0, 1, 1},
                                     {width - 1, height - 1, 1, 1},
                                     {0, height - 1, width, 1},
                                     {width - 1, 0, 1, height}};
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    JpegRegion r;
    r.x = static_cast<int>(random() % width);
    r.y = static_cast<int>(random() % height);
    r.width = 1 + static_cast<int>(random() % (width - r.x));
    r.height = 1 + static_cast<int>(random() % (height - r.y));
    regions.push_back(r);
  }
  return regions;
}

void ExpectRegionsSame(const JpegTestFile& file,
                       const JpegRegionOptions& options, int count,
                       JpegRegionDecoder* decoder) {
  const std::string jpeg = MakeJpeg(file);
  const Image whole = DecodeWhole(jpeg, options);
  ASSERT_EQ(whole.width(), ScaledSize(file.width, options.scale));
  const ImageInfo info = decoder->Open(jpeg).value();
  ASSERT_EQ(info.width, file.width);
  ASSERT_EQ(info.height, file.height);
  ASSERT_EQ(info.channels, file.grey ? 1 : 3);
  for (const JpegRegion& region :
       Regions(whole.width(), whole.height(), file.seed, count)) {
    // Again for each: after a failure of its own the decoder leaves the rest of
    // a picture to libjpeg, which would hide more failures.
    ASSERT_TRUE(decoder->Open(jpeg).ok());
    ExpectSame(region, options, whole, decoder);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << file.width << "x" << file.height << " " << file.horizontal
             << "x" << file.vertical << " grey " << file.grey << " scale "
             << options.scale;
    }
  }
}

// Every way in which a file can be sampled, by names of 4:2:0 and so on.
std::vector<JpegTestFile> Kinds() {
  std::vector<JpegTestFile> kinds(9);
  kinds[0].horizontal = kinds[0].vertical = 1;  // 4:4:4
  kinds[1].vertical = 1;                        // 4:2:2
  // kinds[2]: 4:2:0.
  kinds[3].horizontal = 1;                         // 4:4:0
  kinds[4].horizontal = 4, kinds[4].vertical = 1;  // 4:1:1
  kinds[5].grey = true;
  kinds[6].stored_as_rgb = true;
  kinds[6].horizontal = kinds[6].vertical = 1;
  kinds[7].progressive = true;
  kinds[8].arithmetic = true;
  return kinds;
}

TEST(JpegRegionTest, IsThatPartOfTheWhole) {
  JpegRegionDecoder decoder;
  uint32_t seed = 0;
  for (JpegTestFile file : Kinds()) {
    for (const auto& [width, height] : {std::pair(1, 1),
                                        {2, 3},
                                        {7, 5},
                                        {16, 16},
                                        {17, 33},
                                        {40, 24},
                                        {63, 65},
                                        {97, 130},
                                        {131, 71}}) {
      file.width = width;
      file.height = height;
      file.seed = ++seed;
      ExpectRegionsSame(file, {}, 40, &decoder);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(JpegRegionTest, RestartMarkersAndTablesOfItsOwn) {
  JpegRegionDecoder decoder;
  for (JpegTestFile file : Kinds()) {
    file.width = 150;
    file.height = 120;
    for (int restart_every : {1, 3, 7, 10, 100}) {
      file.restart_every = restart_every;
      file.optimised = !file.arithmetic && restart_every % 2 == 1;
      file.seed = restart_every;
      ExpectRegionsSame(file, {}, 20, &decoder);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(JpegRegionTest, EveryOffsetNearABlock) {
  JpegRegionDecoder decoder;
  for (JpegTestFile file : Kinds()) {
    file.width = file.height = 70;
    const std::string jpeg = MakeJpeg(file);
    const Image whole = DecodeWhole(jpeg, {});
    ASSERT_TRUE(decoder.Open(jpeg).ok());
    for (int begin = 0; begin < 36; ++begin) {
      for (int size : {1, 2, 15, 16, 17, 32}) {
        ASSERT_TRUE(decoder.Open(jpeg).ok());
        ExpectSame({begin, begin, size, size}, {}, whole, &decoder);
        ExpectSame({begin, 35 - begin, size, size}, {}, whole, &decoder);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(JpegRegionTest, AnyQuality) {
  JpegRegionDecoder decoder;
  for (int quality : {1, 5, 30, 75, 95, 100}) {
    for (int noise : {0, 40, 255}) {
      JpegTestFile file;
      file.width = 90;
      file.height = 75;
      file.quality = quality;
      file.noise = noise;
      ExpectRegionsSame(file, {}, 20, &decoder);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(JpegRegionTest, ScaledAndFast) {
  JpegRegionDecoder decoder;
  for (JpegTestFile file : Kinds()) {
    file.width = 203;
    file.height = 157;
    for (int scale : {1, 2, 4, 8}) {
      for (bool exact : {true, false}) {
        for (bool smooth : {true, false}) {
          ExpectRegionsSame(file, {scale, exact, smooth}, 20, &decoder);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(JpegRegionTest, PhotographsAsDecodeJpegHasThem) {
  JpegRegionDecoder decoder;
  for (int i = 0; i < 3; ++i) {
    const std::string jpeg = SyntheticJpeg(7, i);
    const ImageInfo info = decoder.Open(jpeg).value();
    Image whole(info.height, info.width, 3);
    ASSERT_TRUE(DecodeJpeg(jpeg, info.height, info.width, whole.data()).ok());
    for (const JpegRegion& region :
         Regions(info.width, info.height, 10 + i, 20)) {
      ExpectSame(region, {}, whole, &decoder);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(JpegRegionTest, RegionsOutsideAreRefused) {
  const std::string jpeg = MakeJpeg({});
  JpegRegionDecoder decoder;
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  std::vector<uint8_t> out(64 * 64 * 3);
  for (const JpegRegion& region : {JpegRegion{-1, 0, 4, 4},
                                   {0, -1, 4, 4},
                                   {0, 0, 65, 1},
                                   {0, 0, 1, 65},
                                   {60, 0, 5, 1},
                                   {1, 1, 2147483647, 1},
                                   {0, 0, 0, 1},
                                   {0, 0, 1, 0}}) {
    EXPECT_THAT(
        std::string(decoder.Decode(region, {}, out.data(), 64 * 3).message()),
        HasSubstr("not within the image of 64x64"));
  }
  EXPECT_FALSE(decoder.Decode({0, 0, 33, 1}, {2}, out.data(), 99).ok());
  EXPECT_FALSE(decoder.Decode({0, 0, 4, 4}, {3}, out.data(), 99).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 4, 4}, {}, out.data(), 12).ok());
}

TEST(JpegRegionTest, ACutFileIsAnErrorWhereItsPartIsMissing) {
  JpegRegionDecoder decoder;
  for (JpegTestFile file : Kinds()) {
    const std::string jpeg = MakeJpeg(file);
    std::vector<uint8_t> out(64 * 64 * 3);
    for (size_t length = 0; length + 40 < jpeg.size(); length += 11) {
      const absl::string_view cut = absl::string_view(jpeg).substr(0, length);
      if (!decoder.Open(cut).ok()) continue;
      EXPECT_FALSE(decoder.Decode({56, 56, 8, 8}, {}, out.data(), 24).ok())
          << length << " of " << jpeg.size();
    }
    // Half a file has the first rows, unless they come in passes.
    if (file.progressive) continue;
    ASSERT_TRUE(
        decoder.Open(absl::string_view(jpeg).substr(0, jpeg.size() * 3 / 4))
            .ok());
    EXPECT_TRUE(decoder.Decode({0, 0, 64, 8}, {}, out.data(), 192).ok());
    EXPECT_THAT(
        std::string(
            decoder.Decode({0, 0, 64, 64}, {}, out.data(), 192).message()),
        HasSubstr("Premature end"));
    // And the next picture is none the worse for it.
    ExpectRegionsSame(file, {}, 3, &decoder);
  }
}

TEST(JpegRegionTest, DamageUpToTheRegionIsAnError) {
  std::string jpeg = SyntheticJpeg(1, 0);
  JpegRegionDecoder decoder;
  const ImageInfo info = decoder.Open(jpeg).value();
  // A restart mark where none belongs.
  jpeg[jpeg.size() / 2] = '\xff';
  jpeg[jpeg.size() / 2 + 1] = '\xd3';
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  std::vector<uint8_t> out(16 * 16 * 3);
  EXPECT_FALSE(
      decoder.Decode({0, info.height - 16, 16, 16}, {}, out.data(), 48).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 16, 16}, {}, out.data(), 48).ok());
}

TEST(JpegRegionTest, AFileWithoutItsTablesDoesNotGetThoseOfTheLast) {
  JpegRegionDecoder decoder;
  const std::string whole = MakeJpeg({});
  std::vector<uint8_t> out(64 * 64 * 3);
  ASSERT_TRUE(decoder.Open(whole).ok());
  ASSERT_TRUE(decoder.Decode({0, 0, 64, 64}, {}, out.data(), 192).ok());
  // Each of the quantisation tables is a segment: ff db, then its length.
  std::string without = whole;
  for (size_t at; (at = without.find("\xff\xdb")) != std::string::npos;) {
    without.erase(at, 2 + 256 * static_cast<uint8_t>(without[at + 2]) +
                          static_cast<uint8_t>(without[at + 3]));
  }
  ASSERT_TRUE(decoder.Open(without).ok());
  EXPECT_THAT(
      std::string(
          decoder.Decode({0, 0, 64, 64}, {}, out.data(), 192).message()),
      HasSubstr("Quantization table"));
}

TEST(JpegRegionTest, OtherFilesAreRefused) {
  JpegRegionDecoder decoder;
  EXPECT_FALSE(decoder.Open("").ok());
  EXPECT_FALSE(decoder.Open("GIF89a").ok());
  EXPECT_FALSE(decoder.Open("\xff\xd8\xff").ok());
}

TEST(JpegArenaTest, StopsGrowing) {
  JpegArena arena;
  jpeg_decompress_struct cinfo = {};
  for (int picture = 0; picture < 5; ++picture) {
    for (int i = 0; i < 10; ++i) {
      auto* bytes = static_cast<char*>(arena.Allocate(100000));
      ASSERT_NE(bytes, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0);
      std::memset(bytes, picture, 100000);
    }
    arena.Reset(&cinfo);
  }
  // Some for the first picture and one that would have been enough.
  const int made = arena.blocks_made();
  EXPECT_LT(made, 12);
  arena.Allocate(1000000);
  EXPECT_EQ(arena.blocks_made(), made);
}

}  // namespace
}  // namespace feedrate
