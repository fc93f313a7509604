#include "lib/media/jpeg_huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "lib/media/jpeg_baseline_picture.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
