// That the pixels are right is in jpeg_region_test.cc; here, that they are made
// this way at all, and the parts one by one.
#include "lib/media/jpeg_baseline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg_region_turbo.h"
#include "lib/media/jpeg_test_files.h"

namespace feedrate {
namespace {

// The standard's codes for differences of brightness.
constexpr uint8_t kDcCounts[17] = {0, 0, 1, 5, 1, 1, 1, 1, 1};
constexpr uint8_t kDcSymbols[256] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST(JpegBaselineTest, DoesTheCommonKindsItself) {
  JpegBaselineRegion baseline;
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
      // Twice: the second time with tables for passing over codes.
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(
            baseline.Decode(picture, {21, 30, 51, 33}, part.data(), 153));
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
  ASSERT_TRUE(baseline.Decode(picture, {0, 0, 64, 64}, out.data(), 192));
  JpegBaselinePicture cut = picture;
  cut.codes_bytes /= 2;
  EXPECT_FALSE(baseline.Decode(cut, {0, 0, 64, 64}, out.data(), 192));
  EXPECT_TRUE(baseline.Decode(cut, {0, 0, 64, 8}, out.data(), 192));
  JpegBaselinePicture without = picture;
  without.component[2].ac = {};
  EXPECT_FALSE(baseline.Decode(without, {0, 0, 64, 64}, out.data(), 192));
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
  // Where none are expected a restart marker ends everything.
  bytes.Assign(begin, data.size(), /*restarts=*/false);
  ASSERT_EQ(bytes.parts(), 1);
  EXPECT_EQ(part(0),
            "ab\xff"
            "c");
  // An 0xff that nothing follows says nothing.
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
  counts[1] = 2;  // All ones is no code.
  EXPECT_FALSE(table.Prepare({counts, kDcSymbols}, true));
  counts[1] = 1;
  EXPECT_TRUE(table.Prepare({counts, kDcSymbols}, true));
  const uint8_t large[256] = {16};
  EXPECT_FALSE(table.Prepare({counts, large}, true));
  EXPECT_TRUE(table.Prepare({counts, large}, false));
  std::fill(counts + 1, counts + 17, 255);
  EXPECT_FALSE(table.Prepare({counts, kDcSymbols}, true));
}

TEST(JpegIdctTest, FlatBlocksAreWhatTheTransformMakesOfThem) {
  const JpegIdct idct = ChooseJpegIdct();
  alignas(16) int16_t coefficients[64] = {};
  alignas(16) uint16_t factors[64];
  for (int factor : {1, 3, 16, 255}) {
    std::fill(factors, factors + 64, factor);
    for (int value = -2048; value < 2048; value += 5) {
      coefficients[0] = static_cast<int16_t>(value);
      uint8_t out[8][24];
      idct(coefficients, factors, &out[0][0], 24);
      for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
          ASSERT_EQ(out[y][x], JpegFlatSample(coefficients[0], factor))
              << value << " x " << factor;
        }
      }
    }
  }
}

// libjpeg's own formula, for all there is.
TEST(JpegColourTest, EveryColour) {
  const JpegRows rows = ChooseJpegRows();
  std::vector<uint8_t> y(256 + kJpegRowMargin);
  std::vector<uint8_t> cb(y.size());
  std::vector<uint8_t> cr(y.size());
  for (int i = 0; i < 256; ++i) y[i] = static_cast<uint8_t>(i);
  const auto limit = [](int v) { return std::min(255, std::max(0, v)); };
  std::vector<uint8_t> rgb(3 * 256);
  for (int b = 0; b < 256; ++b) {
    for (int r = 0; r < 256; ++r) {
      std::fill(cb.begin(), cb.end(), b);
      std::fill(cr.begin(), cr.end(), r);
      rows.to_rgb(y.data(), cb.data(), cr.data(), 256, rgb.data());
      const int red = (91881 * (r - 128) + 32768) >> 16;
      const int green = (-22554 * (b - 128) - 46802 * (r - 128) + 32768) >> 16;
      const int blue = (116130 * (b - 128) + 32768) >> 16;
      for (int i = 0; i < 256; i += 3) {
        ASSERT_EQ(rgb[3 * i], limit(i + red)) << b << " " << r;
        ASSERT_EQ(rgb[3 * i + 1], limit(i + green)) << b << " " << r;
        ASSERT_EQ(rgb[3 * i + 2], limit(i + blue)) << b << " " << r;
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
