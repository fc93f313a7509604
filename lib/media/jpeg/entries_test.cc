#include "lib/media/jpeg/entries.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lib/media/jpeg/region.h"
#include "lib/media/jpeg/test_files.h"

namespace feedrate {
namespace {

// Regions of a picture, decoded from its entries: those of a whole decode.
void ExpectSameRegions(const JpegTestFile& file) {
  const std::string jpeg = MakeJpeg(file);
  const Image whole = DecodeWhole(jpeg, {});
  JpegRegionDecoder decoder;
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  const std::string packed = decoder.FindEntries();
  ASSERT_NE(packed, "");
  std::mt19937 random(file.seed);
  for (int i = 0; i < 40; ++i) {
    JpegRegion region;
    region.x = static_cast<int>(random() % file.width);
    region.y = static_cast<int>(random() % file.height);
    region.width = 1 + static_cast<int>(random() % (file.width - region.x));
    region.height = 1 + static_cast<int>(random() % (file.height - region.y));
    if (i == 0) region = {0, 0, file.width, file.height};
    const size_t row = size_t{3} * region.width;
    std::vector<uint8_t> out(row * region.height);
    ASSERT_TRUE(decoder.Open(jpeg).ok());
    decoder.UseEntries(packed);
    ASSERT_TRUE(decoder.Decode(region, {}, out.data(), row).ok());
    for (int y = 0; y < region.height; ++y) {
      ASSERT_EQ(std::memcmp(&out[y * row],
                            whole.view().row(region.y + y) + 3 * region.x, row),
                0)
          << "row " << y << " of " << region.width << "x" << region.height
          << "+" << region.x << "+" << region.y;
    }
  }
}

TEST(JpegEntriesTest, RegionsAreThoseOfTheWholePicture) {
  for (const auto& [horizontal, vertical] :
       {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}}) {
    for (const int quality : {30, 90, 100}) {
      JpegTestFile file;
      file.width = 203;
      file.height = 171;
      file.horizontal = horizontal;
      file.vertical = vertical;
      file.quality = quality;
      file.noise = 200;
      ExpectSameRegions(file);
    }
  }
  JpegTestFile gray;
  gray.width = 333;
  gray.height = 90;
  gray.gray = true;
  gray.optimized = true;
  ExpectSameRegions(gray);
}

// The codes before and beside a region are not read: they may be anything.
TEST(JpegEntriesTest, OtherCodesAreNotRead) {
  JpegTestFile file;
  file.width = file.height = 256;
  file.noise = 200;
  const std::string jpeg = MakeJpeg(file);
  const Image whole = DecodeWhole(jpeg, {});
  JpegRegionDecoder decoder;
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  const std::string packed = decoder.FindEntries();
  std::string damaged = jpeg;
  for (size_t i = jpeg.size() / 3; i < jpeg.size() / 2; ++i) damaged[i] = 0x55;
  ASSERT_TRUE(decoder.Open(damaged).ok());
  decoder.UseEntries(packed);
  std::vector<uint8_t> out(32 * 32 * 3);
  ASSERT_TRUE(decoder.Decode({200, 220, 32, 32}, {}, out.data(), 96).ok());
  for (int y = 0; y < 32; ++y) {
    EXPECT_EQ(std::memcmp(&out[y * 96], whole.view().row(220 + y) + 600, 96),
              0);
  }
}

// Nor are they when only CodesOf is there.
TEST(JpegEntriesTest, APartIsEnough) {
  JpegTestFile file;
  file.width = 300;
  file.height = 200;
  file.noise = 200;
  for (const bool gray : {false, true}) {
    file.gray = gray;
    const std::string jpeg = MakeJpeg(file);
    const Image whole = DecodeWhole(jpeg, {});
    JpegRegionDecoder decoder;
    ASSERT_TRUE(decoder.Open(jpeg).ok());
    const std::string packed = decoder.FindEntries();
    const size_t codes_at = decoder.codes_at();
    for (const JpegRegion& region :
         {JpegRegion{0, 0, 40, 40}, {101, 53, 90, 30}, {260, 160, 40, 40}}) {
      ASSERT_TRUE(decoder.Open(jpeg).ok());
      const JpegCodeRange codes =
          decoder.CodesOf(region, packed, jpeg.size() - codes_at);
      ASSERT_LT(codes.end - codes.begin, jpeg.size() / 2);
      std::string part = jpeg.substr(0, codes_at);
      part.resize(codes_at + codes.begin, '\x55');
      part += jpeg.substr(part.size(), codes.end - codes.begin);
      part.resize(jpeg.size() - 2, '\x55');
      part += "\xff\xd9";
      ASSERT_TRUE(decoder.Open(part).ok());
      decoder.UseEntries(packed, /*is_part=*/true);
      const size_t row = size_t{3} * region.width;
      std::vector<uint8_t> out(row * region.height);
      ASSERT_TRUE(decoder.Decode(region, {}, out.data(), row).ok());
      for (int y = 0; y < region.height; ++y) {
        ASSERT_EQ(
            std::memcmp(&out[y * row],
                        whole.view().row(region.y + y) + 3 * region.x, row),
            0);
      }
      // libjpeg-turbo would need the rest.
      JpegRegionOptions half;
      half.scale = 2;
      EXPECT_TRUE(
          absl::IsDataLoss(decoder.Decode({0, 0, 9, 9}, half, out.data(), 27)));
    }
  }
}

TEST(JpegEntriesTest, ThreadsMakeTheSamePixels) {
  JpegBandDecoder bands;
  for (const auto& [horizontal, vertical] :
       {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}}) {
    JpegTestFile file;
    file.width = 200;
    file.height = 700;
    file.horizontal = horizontal;
    file.vertical = vertical;
    const std::string jpeg = MakeJpeg(file);
    const Image whole = DecodeWhole(jpeg, {});
    JpegRegionDecoder decoder;
    ASSERT_TRUE(decoder.Open(jpeg).ok());
    const std::string packed = decoder.FindEntries();
    for (const JpegRegion& region :
         {JpegRegion{0, 0, 200, 700}, {7, 13, 160, 301}, {9, 690, 30, 10}}) {
      for (const int threads : {1, 2, 3, 8}) {
        const size_t row = size_t{3} * region.width;
        std::vector<uint8_t> out(row * region.height);
        ASSERT_TRUE(
            bands.Decode(jpeg, packed, region, threads, out.data(), row).ok());
        for (int y = 0; y < region.height; ++y) {
          ASSERT_EQ(
              std::memcmp(&out[y * row],
                          whole.view().row(region.y + y) + 3 * region.x, row),
              0)
              << y << " of " << threads << " threads";
        }
      }
    }
  }
  // One that cannot be decoded is told once.
  std::vector<uint8_t> out(64 * 64 * 3);
  EXPECT_TRUE(absl::IsInvalidArgument(
      bands.Decode("\xff\xd8\xff", "x", {0, 0, 64, 64}, 4, out.data(), 192)));
}

TEST(JpegEntriesTest, SomeFilesHaveNone) {
  std::vector<JpegTestFile> files(3);
  files[0].progressive = true;
  files[1].restart_every = 2;
  files[2].stored_as_rgb = true;
  for (const JpegTestFile& file : files) {
    const std::string jpeg = MakeJpeg(file);
    JpegRegionDecoder decoder;
    ASSERT_TRUE(decoder.Open(jpeg).ok());
    EXPECT_EQ(decoder.FindEntries(), "");
    // Those of another file are not used.
    decoder.UseEntries("\x04");
    std::vector<uint8_t> out(64 * 64 * 3);
    EXPECT_TRUE(decoder.Decode({0, 0, 64, 64}, {}, out.data(), 192).ok());
  }
}

TEST(JpegEntriesTest, TheyAreSmall) {
  JpegTestFile file;
  file.width = 500;
  file.height = 375;
  file.quality = 95;
  file.noise = 120;
  const std::string jpeg = MakeJpeg(file);
  JpegRegionDecoder decoder;
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  const size_t bytes = decoder.FindEntries().size();
  EXPECT_GT(bytes, jpeg.size() / 200);
  EXPECT_LT(bytes, jpeg.size() / 50);
}

TEST(JpegEntriesTest, PacksAndRefuses) {
  JpegEntries entries;
  entries.components = 3;
  entries.mcus = 10;
  entries.every = 4;
  entries.entries = {{0, 0, {0, 0, 0}},
                     {100, 7, {-32768, 32767, 5}},
                     {101, 0, {32767, -32768, 5}}};
  const std::string packed = PackJpegEntries(entries);
  JpegEntries back;
  ASSERT_TRUE(UnpackJpegEntries(packed, 3, 10, 102, &back));
  ASSERT_EQ(back.entries.size(), 3u);
  EXPECT_EQ(back.entries[1].byte, 100u);
  EXPECT_EQ(back.entries[1].bit, 7);
  EXPECT_EQ(back.entries[2].last_dc[1], -32768);
  // Fewer or more MCUs, components or bytes than they were made for.
  EXPECT_FALSE(UnpackJpegEntries(packed, 3, 8, 102, &back));
  EXPECT_FALSE(UnpackJpegEntries(packed, 3, 13, 102, &back));
  EXPECT_FALSE(UnpackJpegEntries(packed, 1, 10, 102, &back));
  EXPECT_FALSE(UnpackJpegEntries(packed, 3, 10, 101, &back));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(UnpackJpegEntries(packed.substr(0, size), 3, 10, 102, &back));
  }
  EXPECT_FALSE(UnpackJpegEntries(std::string(20, '\xff'), 3, 10, 102, &back));
  EXPECT_FALSE(UnpackJpegEntries(std::string(1, '\0'), 3, 10, 102, &back));
}

}  // namespace
}  // namespace feedrate
