#include "lib/media/jpeg/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/media/image_file.h"
#include "lib/media/jpeg/libjpeg.h"
#include "lib/media/jpeg/test_files.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string Text(const JpegRegion& r) {
  return absl::StrCat(r.width, "x", r.height, "+", r.x, "+", r.y);
}

// Decodes the region to rows with a gap between them, which must not change.
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
  ASSERT_EQ(info.channels, file.gray ? 1 : file.cmyk || file.ycck ? 4 : 3);
  for (const JpegRegion& region :
       Regions(whole.width(), whole.height(), file.seed, count)) {
    // Opens the file again for each region: after a failure of its own the
    // decoder leaves the rest of a picture to libjpeg, which would hide more
    // failures.
    ASSERT_TRUE(decoder->Open(jpeg).ok());
    ExpectSame(region, options, whole, decoder);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << file.width << "x" << file.height << " " << file.horizontal
             << "x" << file.vertical << " gray " << file.gray << " scale "
             << options.scale;
    }
  }
}

// Every way of sampling a file: 4:2:0 and so on.
std::vector<JpegTestFile> Kinds() {
  std::vector<JpegTestFile> kinds(11);
  kinds[0].horizontal = kinds[0].vertical = 1;  // 4:4:4
  kinds[1].vertical = 1;                        // 4:2:2
  // kinds[2]: 4:2:0.
  kinds[3].horizontal = 1;                         // 4:4:0
  kinds[4].horizontal = 4, kinds[4].vertical = 1;  // 4:1:1
  kinds[5].gray = true;
  kinds[6].stored_as_rgb = true;
  kinds[6].horizontal = kinds[6].vertical = 1;
  kinds[7].progressive = true;
  kinds[8].arithmetic = true;
  kinds[9].cmyk = true;
  kinds[10].ycck = true;
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
      file.optimized = !file.arithmetic && restart_every % 2 == 1;
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

// Whatever region is wanted, so that a loader skips it in every epoch.
TEST(JpegRegionTest, ACutFileIsAnErrorWhereverItIsCut) {
  JpegRegionDecoder decoder;
  std::vector<uint8_t> out(64 * 64 * 3);
  for (JpegTestFile file : Kinds()) {
    const std::string jpeg = MakeJpeg(file);
    for (size_t length = 0; length < jpeg.size(); length += 3) {
      EXPECT_FALSE(decoder.Open(jpeg.substr(0, length)).ok())
          << length << " of " << jpeg.size();
    }
    const absl::string_view rows =
        absl::string_view(jpeg).substr(0, jpeg.size() * 3 / 4);
    EXPECT_THAT(std::string(decoder.Open(rows).status().message()),
                HasSubstr("Premature end"));
    // As a file has it whose place on the disk was reserved.
    EXPECT_FALSE(decoder.Open(std::string(rows) + std::string(99, 0)).ok());
    // Cameras add data of their own.
    const std::string longer = jpeg + "\xff\xd8 and more";
    ASSERT_TRUE(decoder.Open(longer).ok());
    EXPECT_TRUE(decoder.Decode({0, 0, 64, 8}, {}, out.data(), 192).ok());
    // The next picture is not affected.
    ExpectRegionsSame(file, {}, 3, &decoder);
  }
}

TEST(JpegRegionTest, DamageUpToTheRegionIsAnError) {
  std::string jpeg = SyntheticJpeg(1, 0);
  JpegRegionDecoder decoder;
  const ImageInfo info = decoder.Open(jpeg).value();
  // A restart marker where none belongs.
  jpeg[jpeg.size() / 2] = '\xff';
  jpeg[jpeg.size() / 2 + 1] = '\xd3';
  ASSERT_TRUE(decoder.Open(jpeg).ok());
  std::vector<uint8_t> out(16 * 16 * 3);
  EXPECT_FALSE(
      decoder.Decode({0, info.height - 16, 16, 16}, {}, out.data(), 48).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 16, 16}, {}, out.data(), 48).ok());
}

TEST(JpegRegionTest, DamagedStructureGivesLibjpegsPixelsOrNone) {
  std::mt19937 random(22);
  int counts[5] = {};
  for (int i = 0; i < 5000; ++i) {
    std::string draws(48, '\0');
    for (char& c : draws) c = static_cast<char>(random());
    const DamagedJpeg jpeg = DrawDamagedJpeg(draws);
    ++counts[static_cast<int>(DecodeDamaged(jpeg))];
  }
  std::cout << counts[0] << " the same pixels, " << counts[1] << " refused, "
            << counts[2] << " unharmed\n";
  // Enough of each kind to mean something.
  for (int i = 0; i < 3; ++i) EXPECT_GT(counts[i], 20) << i;
  EXPECT_EQ(counts[3], 0) << "accepted with other pixels";
  EXPECT_EQ(counts[4], 0) << "refused only by our decoder";
}

TEST(JpegRegionTest, ProgressiveFilesThatLackScans) {
  JpegRegionDecoder decoder;
  for (int scans = 1; scans < 10; ++scans) {
    JpegTestFile file;
    file.progressive = true;
    file.scans = scans;
    file.width = 203;
    file.height = 157;
    file.quality = 60;
    for (int scale : {1, 2, 4, 8}) {
      ExpectRegionsSame(file, {scale}, 40, &decoder);
      if (HasFatalFailure()) FAIL() << scans << " scans";
    }
    file.horizontal = file.vertical = 1;
    ExpectRegionsSame(file, {}, 40, &decoder);
    if (HasFatalFailure()) FAIL() << scans << " scans";
  }
}

TEST(JpegRegionTest, AFileWithoutItsTablesDoesNotGetThoseOfTheLast) {
  JpegRegionDecoder decoder;
  const std::string whole = MakeJpeg({});
  std::vector<uint8_t> out(64 * 64 * 3);
  ASSERT_TRUE(decoder.Open(whole).ok());
  ASSERT_TRUE(decoder.Decode({0, 0, 64, 64}, {}, out.data(), 192).ok());
  // Each quantization table is a segment: ff db, then its length.
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
  // Some blocks for the first picture, and one that would have been enough.
  const int made = arena.blocks_made();
  EXPECT_LT(made, 12);
  arena.Allocate(1000000);
  EXPECT_EQ(arena.blocks_made(), made);
}

// The tests above check the pixels; these check that the fast decoder makes
// them.

TEST(JpegBaselineTest, DoesTheCommonKindsItself) {
  JpegBaselineRegion baseline, plain(/*may_use_bmi2=*/false);
  for (const auto& [horizontal, vertical] :
       {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}}) {
    for (int restart_every : {0, 3}) {
      JpegTestFile file;
      file.width = 100;
      file.height = 70;
      file.horizontal = horizontal;
      file.vertical = vertical;
      file.restart_every = restart_every;
      const std::string jpeg = MakeJpeg(file);
      JpegTurboRegion turbo;
      ASSERT_TRUE(turbo.Open(jpeg).ok());
      JpegBaselinePicture picture;
      ASSERT_TRUE(turbo.GetBaseline(&picture));
      const Image whole = DecodeWhole(jpeg, {});
      Image part(33, 51, 3);
      // Each twice: the second time with tables for skipping codes.
      for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(
            (i < 2 ? baseline : plain)
                .Decode(picture, {21, 30, 51, 33}, nullptr, part.data(), 153));
        for (int y = 0; y < 33; ++y) {
          ASSERT_EQ(
              std::memcmp(part.row(y), whole.view().row(30 + y) + 63, 153), 0)
              << horizontal << "x" << vertical << " " << restart_every << " "
              << i << " row " << y;
        }
      }
    }
  }
}

TEST(JpegBaselineTest, LeavesTheOthersAlone) {
  std::vector<JpegTestFile> files(4);
  files[0].progressive = true;
  files[1].arithmetic = true;
  files[2].horizontal = 4;
  files[3].stored_as_rgb = true;
  for (const JpegTestFile& file : files) {
    const std::string jpeg = MakeJpeg(file);
    JpegTurboRegion turbo;
    ASSERT_TRUE(turbo.Open(jpeg).ok());
    JpegBaselinePicture picture;
    EXPECT_FALSE(turbo.GetBaseline(&picture));
  }
}

TEST(JpegBaselineTest, CutOffOrOddFilesAreLeftToLibjpeg) {
  const std::string jpeg = MakeJpeg({});
  JpegTurboRegion turbo;
  ASSERT_TRUE(turbo.Open(jpeg).ok());
  JpegBaselinePicture picture;
  ASSERT_TRUE(turbo.GetBaseline(&picture));
  JpegBaselineRegion baseline;
  std::vector<uint8_t> out(64 * 64 * 3);
  ASSERT_TRUE(
      baseline.Decode(picture, {0, 0, 64, 64}, nullptr, out.data(), 192));
  JpegBaselinePicture cut = picture;
  cut.codes_bytes /= 2;
  EXPECT_FALSE(baseline.Decode(cut, {0, 0, 64, 64}, nullptr, out.data(), 192));
  EXPECT_TRUE(baseline.Decode(cut, {0, 0, 64, 8}, nullptr, out.data(), 192));
  JpegBaselinePicture without = picture;
  without.component[2].ac = {};
  EXPECT_FALSE(
      baseline.Decode(without, {0, 0, 64, 64}, nullptr, out.data(), 192));
}

// The standard's codes for differences of brightness.
constexpr uint8_t kDcCounts[17] = {0, 0, 1, 5, 1, 1, 1, 1, 1};
constexpr uint8_t kDcSymbols[256] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST(JpegHuffmanTest, TableAndSearchAgree) {
  JpegHuffmanTable table;
  ASSERT_TRUE(table.Prepare({kDcCounts, kDcSymbols}, /*is_dc=*/true));
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    ASSERT_EQ(table.table()[bits >> 6], table.Find(bits)) << bits;
  }
  EXPECT_EQ(table.Find(0xffff), JpegCode::kNone);
  EXPECT_EQ(JpegCode::Bits(table.Find(0)), 2);  // 00: no difference.
}

TEST(JpegHuffmanTest, SeveralCodesReachAsFarAsOneByOne) {
  // As AC codes: 00 ends a block, 010 is 0/1, 011 is 0/2.
  JpegHuffmanTable table;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table.skip_table(), nullptr);
    ASSERT_TRUE(table.Prepare({kDcCounts, kDcSymbols}, /*is_dc=*/false));
  }
  ASSERT_NE(table.skip_table(), nullptr);
  constexpr int kWidth = JpegHuffmanTable::kSkipWidth;
  for (uint32_t look = 0; look < 1 << kWidth; ++look) {
    const uint32_t several = table.skip_table()[look];
    int bits = 0;
    int advance = 0;
    while (bits < JpegCodes::Bits(several)) {
      const uint32_t code = table.Find((look << 16 >> kWidth << bits) & 0xffff);
      ASSERT_NE(code, JpegCode::kNone);
      EXPECT_TRUE(advance <= JpegCodes::BeforeLast(several));
      bits += JpegCode::Bits(code);
      advance += JpegCode::Advance(code);
    }
    EXPECT_EQ(bits, JpegCodes::Bits(several));
    EXPECT_EQ(advance, JpegCodes::Advance(several));
  }
}

TEST(JpegHuffmanTest, ImpossibleCodesAreRefused) {
  JpegHuffmanTable table;
  uint8_t counts[17] = {0, 3};  // Three codes of one bit.
  EXPECT_FALSE(table.Prepare({counts, kDcSymbols}, true));
  counts[1] = 2;  // A code of only ones is not allowed.
  EXPECT_FALSE(table.Prepare({counts, kDcSymbols}, true));
  counts[1] = 1;
  EXPECT_TRUE(table.Prepare({counts, kDcSymbols}, true));
  const uint8_t large[256] = {16};
  EXPECT_FALSE(table.Prepare({counts, large}, true));
  EXPECT_TRUE(table.Prepare({counts, large}, false));
  std::fill(counts + 1, counts + 17, 255);
  EXPECT_FALSE(table.Prepare({counts, kDcSymbols}, true));
}

TEST(JpegCodeBytesTest, TakesOutWhatIsStuffed) {
  JpegCodeBytes bytes;
  const std::string data(
      "ab\xff\0c\xff\xd0"
      "d\xff\xd1\xff\xd9xyz",
      14);
  const auto* begin = reinterpret_cast<const uint8_t*>(data.data());
  bytes.Assign(begin, data.size(), /*restarts=*/true);
  ASSERT_EQ(bytes.parts(), 3);
  const auto part = [&](int i) {
    return std::string(bytes.begin(i), bytes.end(i));
  };
  EXPECT_EQ(part(0),
            "ab\xff"
            "c");
  EXPECT_EQ(part(1), "d");
  EXPECT_EQ(part(2), "");
  // Where none are expected, a restart marker ends the codes.
  bytes.Assign(begin, data.size(), /*restarts=*/false);
  ASSERT_EQ(bytes.parts(), 1);
  EXPECT_EQ(part(0),
            "ab\xff"
            "c");
  // A trailing 0xff is ignored.
  bytes.Assign(begin, 3, /*restarts=*/true);
  EXPECT_EQ(part(0), "ab");
  bytes.Assign(begin, 0, /*restarts=*/true);
  EXPECT_EQ(part(0), "");
}

TEST(JpegCodeBytesTest, AnyPlaceOfAMarker) {
  for (size_t at = 0; at < 60; ++at) {
    std::string data(61, 'x');
    data.insert(at, std::string("\xff\0", 2));
    std::string expected(61, 'x');
    expected.insert(at, 1, '\xff');
    JpegCodeBytes bytes;
    bytes.Assign(reinterpret_cast<const uint8_t*>(data.data()), data.size(),
                 false);
    EXPECT_EQ(std::string(bytes.begin(0), bytes.end(0)), expected);
  }
}

}  // namespace
}  // namespace feedrate
