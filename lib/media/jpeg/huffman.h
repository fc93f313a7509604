// Huffman codes of baseline JPEGs, and the blocks of coefficients that they
// encode. Tables give the meaning of the next bits in one lookup and, for
// blocks that are skipped, the length of several codes in one lookup. For
// lib/media/jpeg only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace feedrate {

// As stored in the file. `counts[n]` is the number of codes with n bits, n from
// 1 to 16; `symbols` has as many entries as there are codes, at most 256.
struct JpegHuffmanCodes {
  const uint8_t* counts = nullptr;
  const uint8_t* symbols = nullptr;
};

struct JpegBaselineComponent {
  // Samples across and down per smallest unit of the picture.
  int horizontal = 1;
  int vertical = 1;
  // 64 factors from left to right and from top to bottom, not in zigzag.
  const uint16_t* quantization = nullptr;
  JpegHuffmanCodes dc;
  JpegHuffmanCodes ac;
};

// A baseline JPEG with its headers read: what remains is one run of Huffman
// codes. It has one gray component, or Y, Cb and Cr, where Y has one or two
// samples in each direction per sample of the others.
struct JpegBaselinePicture {
  int width = 0;
  int height = 0;
  int components = 0;
  JpegBaselineComponent component[3];
  int restart_every = 0;  // In MCUs; 0 means never.
  const uint8_t* codes = nullptr;
  size_t codes_bytes = 0;  // To the end of the file, whatever follows.
};

// The meaning of a code, in one word so that a lookup is one load. `bits` is
// lowest because the next lookup waits for it.
class JpegCode {
 public:
  // The code is longer than the table is wide, or invalid.
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
  // Bits of the code and the value after it, at most 31.
  static int Bits(uint32_t code) { return code & 63; }
  static int CodeBits(uint32_t code) { return code >> 8 & 63; }
  // 63 minus the bits of the value.
  static int ValueShift(uint32_t code) { return code >> 16 & 63; }
  // Number of coefficients that it advances.
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
  // How far all codes but the last advance: the last belongs to the block only
  // if there is room for it after these.
  static int BeforeLast(uint32_t codes) { return codes >> 8 & 255; }
  static int Advance(uint32_t codes) { return static_cast<int>(codes >> 16); }
};

class JpegHuffmanTable {
 public:
  // Codes up to this length, nearly all that occur, are found in one lookup.
  static constexpr int kWidth = 10;
  static constexpr int kSkipWidth = 12;

  // False when libjpeg would not accept the codes. Codes equal to the last ones
  // cost nothing; the second time, this also makes skip_table.
  bool Prepare(const JpegHuffmanCodes& codes, bool is_dc);

  // Indexed by the next kWidth bits.
  const uint32_t* table() const { return table_.data(); }
  // Indexed by the next kSkipWidth bits. May be null.
  const uint32_t* skip_table() const {
    return skip_.empty() ? nullptr : skip_.data();
  }
  // Finds a code of any length from the next 16 bits. kNone when there is no
  // such code.
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

// The run of Huffman codes of a JPEG without the stuffed zeros and restart
// markers that the format puts between its bytes.

class JpegCodeBytes {
 public:
  // The codes can be read this many bytes past their end, as zeros.
  static constexpr size_t kMargin = 4096;

  // Takes the bytes up to the first marker that is not a restart marker, or is
  // one out of order. Keeps its memory between pictures.
  void Assign(const uint8_t* data, size_t size, bool restarts);

  // Parts between restart markers; at least one.
  int parts() const { return static_cast<int>(begins_.size()) - 1; }
  const uint8_t* begin(int part) const { return &bytes_[begins_[part]]; }
  const uint8_t* end(int part) const { return &bytes_[begins_[part + 1]]; }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<size_t> begins_;
};

// The tables that a component's blocks use, and its last value.
struct JpegBlockCodes {
  const JpegHuffmanTable* dc = nullptr;
  const JpegHuffmanTable* ac = nullptr;
  // From the block before. Differences in a broken file may wrap around.
  uint32_t last_dc = 0;
};

// From zigzag to rows. Long enough for the index that an end of block gives.
struct JpegZigzag {
  static const uint8_t kPlace[256];
};

// Reads or skips blocks of coefficients. Holds the next bits, the first of them
// highest, in a register. Filling it needs no branches and may read up to 8
// bytes past what is used, which JpegCodeBytes::kMargin allows for one MCU at
// least: every code takes at most 31 bits, so an MCU of up to 10 blocks at most
// 10 x 64 x 4 bytes.
class JpegBitReader {
 public:
  // Reads the coefficients of one block. `coefficients` must be all zero
  // before. May also write index 64. Returns the index after the last one, plus
  // JpegCode::kEnd unless that is 64; 0 when the codes are invalid.
  int ReadBlock(JpegBlockCodes* codes, int16_t* coefficients);
  // The same without storing any.
  int SkipBlock(JpegBlockCodes* codes);

  void Start(const uint8_t* bytes) {
    next_ = bytes;
    buffer_ = 0;
    count_ = 0;
  }
  // REQUIRES: it was just started; bits < 8.
  void Discard(int bits) {
    Fill();
    Drop(static_cast<uint32_t>(bits));
  }
  // How many bits behind `bytes` are used.
  int64_t BitsAfter(const uint8_t* bytes) const {
    return 8 * (next_ - bytes) - count_;
  }
  // True when the bits used so far end at or before `end`.
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
  // `code` has its length in its lowest byte and nothing else there. It is
  // masked in two ways; neither costs the processor anything.
  void Drop(uint32_t code) {
    buffer_ <<= code & 63;
    count_ -= static_cast<uint8_t>(code);
  }
  // `table` is the table of `codes`, looked up once per block.
  uint32_t Look(const JpegHuffmanTable& codes, const uint32_t* table) const {
    const uint32_t code = table[buffer_ >> (64 - JpegHuffmanTable::kWidth)];
    if (__builtin_expect(code != JpegCode::kNone, 1)) return code;
    return codes.Find(static_cast<uint32_t>(buffer_ >> 48));
  }
  // The value after the next code. A leading 0 means negative.
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
  // A copy, so that members stay in registers for the block.
  JpegBitReader reader = *this;
  if (!reader.ReadDc(codes)) return 0;
  coefficients[0] = static_cast<int16_t>(codes->last_dc);
  const JpegHuffmanTable& ac = *codes->ac;
  const uint32_t* const table = ac.table();
  int k = 1;
  // At most three codes per fill, without branches that are hard to predict:
  // two rarely leave too few bits for a third.
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
