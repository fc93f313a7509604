// Reads blocks of coefficients from a run of Huffman codes, or passes over
// them. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_ENTROPY_H_
#define FEEDRATE_LIB_MEDIA_JPEG_ENTROPY_H_

#include <cstdint>
#include <cstring>

#include "lib/media/jpeg_huffman.h"

namespace feedrate {

// Which tables a component's blocks use, and what came before.
struct JpegBlockCodes {
  const JpegHuffmanTable* dc = nullptr;
  const JpegHuffmanTable* ac = nullptr;
  // Of the block before; differences of a broken file may wrap around.
  uint32_t last_dc = 0;
};

// From zigzag to rows, and far enough to swallow what an end of block adds.
struct JpegZigzag {
  static const uint8_t kPlace[256];
};

// The next bits, the first of them highest, in a register. Filling it needs no
// branches and may read up to 8 bytes past what is used, which
// JpegCodeBytes::kMargin allows for one MCU at least: every code takes at most
// 31 bits, so an MCU of up to 10 blocks at most 10 x 64 x 4 bytes.
class JpegBitReader {
 public:
  // Coefficients of one block, `coefficients` all zero before. One more may be
  // written at index 64. Returns the index after the last one, JpegCode::kEnd
  // added unless that is 64; 0 when the codes make no sense.
  int ReadBlock(JpegBlockCodes* codes, int16_t* coefficients);
  // The same without keeping any.
  int SkipBlock(JpegBlockCodes* codes);

  void Start(const uint8_t* bytes) {
    next_ = bytes;
    buffer_ = 0;
    count_ = 0;
  }
  // True when what was used ends at or before `end`.
  bool Within(const uint8_t* end) const { return next_ - count_ / 8 <= end; }

 private:
  static constexpr int kEnough = 32;  // For any code and its value.

  void Fill() {
    uint64_t word;
    std::memcpy(&word, next_, 8);
    buffer_ |= __builtin_bswap64(word) >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  // `code` has its bits lowest and nothing else in its lowest byte. Masked in
  // two ways, of which each costs the processor nothing.
  void Drop(uint32_t code) {
    buffer_ <<= code & 63;
    count_ -= static_cast<uint8_t>(code);
  }
  // `table` is that of `codes`, found once for a block.
  uint32_t Look(const JpegHuffmanTable& codes, const uint32_t* table) const {
    const uint32_t code = table[buffer_ >> (64 - JpegHuffmanTable::kWidth)];
    if (__builtin_expect(code != JpegCode::kNone, 1)) return code;
    return codes.Find(static_cast<uint32_t>(buffer_ >> 48));
  }
  // The value after the code that comes next. A leading 0 means below zero.
  int Value(uint32_t code) const {
    const uint64_t after = buffer_ << JpegCode::CodeBits(code);
    const int shift = JpegCode::ValueShift(code);
    const auto bits = static_cast<uint32_t>(after >> 1 >> shift);
    const auto mask = static_cast<uint32_t>(~uint64_t{0} >> 1 >> shift);
    const auto negative =
        static_cast<uint32_t>(~static_cast<int64_t>(after) >> 63);
    return static_cast<int>(bits - (negative & mask));
  }
  bool ReadDc(JpegBlockCodes* codes);
  bool ReadOne(const JpegHuffmanTable& codes, const uint32_t* table,
               int16_t* coefficients, int* k);
  bool SkipSome(const JpegHuffmanTable& table, const uint32_t* several, int* k);
  bool SkipOne(const JpegHuffmanTable& table, int* k);

  const uint8_t* next_ = nullptr;
  uint64_t buffer_ = 0;
  int count_ = 0;  // Valid bits of buffer_.
};

inline bool JpegBitReader::ReadDc(JpegBlockCodes* codes) {
  Fill();
  const uint32_t code = Look(*codes->dc, codes->dc->table());
  if (code == JpegCode::kNone) return false;
  codes->last_dc += static_cast<uint32_t>(Value(code));
  Drop(code);
  return true;
}

inline bool JpegBitReader::ReadOne(const JpegHuffmanTable& codes,
                                   const uint32_t* table, int16_t* coefficients,
                                   int* k) {
  const uint32_t code = Look(codes, table);
  if (code == JpegCode::kNone) return false;
  *k += JpegCode::Advance(code);
  coefficients[JpegZigzag::kPlace[*k - 1]] = static_cast<int16_t>(Value(code));
  Drop(code);
  return true;
}

inline int JpegBitReader::ReadBlock(JpegBlockCodes* codes,
                                    int16_t* coefficients) {
  // Members live in registers for the length of the block.
  JpegBitReader reader = *this;
  if (!reader.ReadDc(codes)) return 0;
  coefficients[0] = static_cast<int16_t>(codes->last_dc);
  const JpegHuffmanTable& ac = *codes->ac;
  const uint32_t* const table = ac.table();
  int k = 1;
  // Three codes at most for each filling, without branches that are hard to
  // foresee: two rarely leave too little for a third.
  for (;;) {
    reader.Fill();
    if (!reader.ReadOne(ac, table, coefficients, &k)) return 0;
    if (k >= 64) break;
    if (reader.count_ < kEnough) continue;
    if (!reader.ReadOne(ac, table, coefficients, &k)) return 0;
    if (k >= 64) break;
    if (reader.count_ < kEnough) continue;
    if (!reader.ReadOne(ac, table, coefficients, &k)) return 0;
    if (k >= 64) break;
  }
  *this = reader;
  return k == 64 || k >= JpegCode::kEnd ? k : 0;
}

inline bool JpegBitReader::SkipOne(const JpegHuffmanTable& table, int* k) {
  const uint32_t code = Look(table, table.table());
  if (code == JpegCode::kNone) return false;
  *k += JpegCode::Advance(code);
  Drop(code);
  return true;
}

inline bool JpegBitReader::SkipSome(const JpegHuffmanTable& table,
                                    const uint32_t* several, int* k) {
  const uint32_t codes =
      several[buffer_ >> (64 - JpegHuffmanTable::kSkipWidth)];
  if (codes == JpegCode::kNone || *k + JpegCodes::BeforeLast(codes) >= 64) {
    return SkipOne(table, k);
  }
  *k += JpegCodes::Advance(codes);
  Drop(codes);
  return true;
}

inline int JpegBitReader::SkipBlock(JpegBlockCodes* codes) {
  JpegBitReader reader = *this;
  if (!reader.ReadDc(codes)) return 0;
  const JpegHuffmanTable& ac = *codes->ac;
  const uint32_t* const several = ac.skip_table();
  int k = 1;
  if (several == nullptr) {
    do {
      reader.Fill();
      if (!reader.SkipOne(ac, &k)) return 0;
    } while (k < 64);
  } else {
    for (;;) {
      reader.Fill();
      if (!reader.SkipSome(ac, several, &k)) return 0;
      if (k >= 64) break;
      if (reader.count_ < kEnough) continue;
      if (!reader.SkipSome(ac, several, &k)) return 0;
      if (k >= 64) break;
    }
  }
  *this = reader;
  return k == 64 || k >= JpegCode::kEnd ? k : 0;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_ENTROPY_H_
