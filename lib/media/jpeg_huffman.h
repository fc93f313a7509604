// Huffman codes of JPEG as tables: what the next bits mean in one look, and,
// for blocks that nobody needs, how far several codes reach in one look. For
// jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_HUFFMAN_H_
#define FEEDRATE_LIB_MEDIA_JPEG_HUFFMAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "lib/media/jpeg_baseline_picture.h"

namespace feedrate {

// What a code says, in one word so that a look is one load. `bits` lies lowest
// because it is what the next look waits for.
class JpegCode {
 public:
  // The code is longer than the table is wide, or is none.
  static constexpr uint32_t kNone = 0;
  // Added to the position at the end of a block, so that it cannot be mistaken
  // for having come to 64 in steps.
  static constexpr int kEnd = 128;

  static uint32_t Make(int code_bits, int value_bits, int advance) {
    return static_cast<uint32_t>(code_bits + value_bits) |
           static_cast<uint32_t>(code_bits) << 8 |
           static_cast<uint32_t>(63 - value_bits) << 16 |
           static_cast<uint32_t>(advance) << 24;
  }
  // Of the code and the value after it, at most 31.
  static int Bits(uint32_t code) { return code & 63; }
  static int CodeBits(uint32_t code) { return code >> 8 & 63; }
  // 63 less the bits of the value.
  static int ValueShift(uint32_t code) { return code >> 16 & 63; }
  // By how many coefficients it moves on.
  static int Advance(uint32_t code) { return static_cast<int>(code >> 24); }
};

// Several codes at once, without their values.
class JpegCodes {
 public:
  static uint32_t Make(int bits, int advance, int before_last) {
    return static_cast<uint32_t>(bits) |
           static_cast<uint32_t>(before_last) << 8 |
           static_cast<uint32_t>(advance) << 16;
  }
  static int Bits(uint32_t codes) { return codes & 63; }
  // How far all but the last move on: the last belongs to the block only if
  // there is room for it after these.
  static int BeforeLast(uint32_t codes) { return codes >> 8 & 255; }
  static int Advance(uint32_t codes) { return static_cast<int>(codes >> 16); }
};

class JpegHuffmanTable {
 public:
  // Codes up to this length, nearly all that occur, are found in one look.
  static constexpr int kWidth = 10;
  static constexpr int kSkipWidth = 12;

  // False when the codes are not what libjpeg accepts. Codes equal to the last
  // ones cost nothing; when they come a second time, SkipTable is made.
  bool Prepare(const JpegHuffmanCodes& codes, bool is_dc);

  // By the next kWidth bits.
  const uint32_t* table() const { return table_.data(); }
  // By the next kSkipWidth bits, or null.
  const uint32_t* skip_table() const {
    return skip_.empty() ? nullptr : skip_.data();
  }
  // Whatever the length, by the next 16 bits. kNone when there is no such code.
  uint32_t Find(uint32_t next16) const;

 private:
  bool Same(const JpegHuffmanCodes& codes) const;
  bool Build();
  void BuildSkip();
  uint32_t Meaning(int symbol, int code_bits) const;

  bool is_dc_ = false;
  bool valid_ = false;
  std::array<uint8_t, 17> counts_ = {};
  std::array<uint8_t, 256> symbols_ = {};
  std::array<uint32_t, 1 << kWidth> table_ = {};
  // The first 16 bits that are past all codes of each length, and which symbol
  // its first code is.
  std::array<uint32_t, 17> past_ = {};
  std::array<int, 17> first_ = {};
  std::vector<uint32_t> skip_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_HUFFMAN_H_
