#include "lib/media/jpeg/huffman.h"

#include <algorithm>
#include <numeric>

namespace feedrate {
namespace {

int CountSymbols(const uint8_t* counts) {
  return std::accumulate(counts + 1, counts + 17, 0);
}

}  // namespace

bool JpegHuffmanTable::Same(const JpegHuffmanCodes& codes) const {
  return valid_ && std::memcmp(codes.counts + 1, &counts_[1], 16) == 0 &&
         std::memcmp(codes.symbols, symbols_.data(),
                     CountSymbols(codes.counts)) == 0;
}

bool JpegHuffmanTable::Prepare(const JpegHuffmanCodes& codes, bool is_dc) {
  if (Same(codes) && is_dc == is_dc_) {
    // Only worth building for codes that recur, such as those of the standard.
    if (!is_dc_ && skip_.empty()) BuildSkip();
    return true;
  }
  valid_ = false;
  skip_.clear();
  is_dc_ = is_dc;
  const int count = CountSymbols(codes.counts);
  if (count > 256) return false;
  std::copy_n(codes.counts + 1, 16, &counts_[1]);
  std::copy_n(codes.symbols, count, symbols_.begin());
  valid_ = Build();
  return valid_;
}

uint32_t JpegHuffmanTable::Meaning(int symbol, int code_bits) const {
  const int value_bits = symbol & 15;
  if (is_dc_) return JpegCode::Make(code_bits, symbol, 1);
  const int run = symbol >> 4;
  if (value_bits != 0) return JpegCode::Make(code_bits, value_bits, run + 1);
  // Sixteen zeros, or only zeros to the end of the block.
  return JpegCode::Make(code_bits, 0, run == 15 ? 16 : JpegCode::kEnd);
}

bool JpegHuffmanTable::Build() {
  table_.fill(JpegCode::kNone);
  uint32_t code = 0;
  int symbol = 0;
  for (int length = 1; length <= 16; ++length) {
    first_[length] = symbol - static_cast<int>(code);
    for (int i = 0; i < counts_[length]; ++i, ++code, ++symbol) {
      if (is_dc_ && symbols_[symbol] > 15) return false;
      if (length > kWidth || code >= 1u << length) continue;
      const int spare = kWidth - length;
      std::fill_n(table_.begin() + (code << spare), size_t{1} << spare,
                  Meaning(symbols_[symbol], length));
    }
    // No code may be all ones, or exceed its length.
    if (counts_[length] != 0 && code >= 1u << length) return false;
    past_[length] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

uint32_t JpegHuffmanTable::Find(uint32_t next16) const {
  for (int length = 1; length <= 16; ++length) {
    if (next16 < past_[length]) {
      const int index =
          first_[length] + static_cast<int>(next16 >> (16 - length));
      return Meaning(symbols_[index], length);
    }
  }
  return JpegCode::kNone;
}

// Includes as many codes as the bits of the lookup determine; the value after
// the last may reach beyond them.
void JpegHuffmanTable::BuildSkip() {
  skip_.assign(1 << kSkipWidth, JpegCode::kNone);
  for (uint32_t look = 0; look < skip_.size(); ++look) {
    int bits = 0;
    int advance = 0;
    int before_last = 0;
    while (bits < kSkipWidth) {
      const uint32_t rest = look << bits & ((1u << kSkipWidth) - 1);
      const uint32_t code = table_[rest >> (kSkipWidth - kWidth)];
      if (code == JpegCode::kNone ||
          bits + JpegCode::CodeBits(code) > kSkipWidth) {
        break;
      }
      if (advance + JpegCode::Advance(code) > 255) break;
      before_last = advance;
      bits += JpegCode::Bits(code);
      advance += JpegCode::Advance(code);
      if (advance >= 64) break;  // The end of the block, or invalid.
    }
    if (bits > 0) skip_[look] = JpegCodes::Make(bits, advance, before_last);
  }
}

namespace {

bool HasMarkerByte(uint64_t word) {
  const uint64_t zeros = ~word;
  return ((zeros - 0x0101010101010101u) & ~zeros & 0x8080808080808080u) != 0;
}

}  // namespace

void JpegCodeBytes::Assign(const uint8_t* data, size_t size, bool restarts) {
  if (bytes_.size() < size + kMargin) bytes_.resize(size + kMargin);
  begins_.assign(1, 0);
  uint8_t* const first = bytes_.data();
  uint8_t* out = first;
  const uint8_t* const end = data + size;
  int next_restart = 0;
  while (data < end) {
    // About one byte in two hundred is 0xff.
    while (end - data >= 16) {
      uint64_t words[2];
      std::memcpy(words, data, 16);
      if (HasMarkerByte(words[0]) || HasMarkerByte(words[1])) break;
      std::memcpy(out, words, 16);
      data += 16;
      out += 16;
    }
    while (data < end && *data != 0xff) *out++ = *data++;
    if (end - data < 2) break;
    if (data[1] == 0) {
      *out++ = 0xff;
    } else if (restarts && data[1] == 0xd0 + next_restart) {
      next_restart = (next_restart + 1) % 8;
      begins_.push_back(out - first);
    } else {
      break;
    }
    data += 2;
  }
  begins_.push_back(out - first);
  std::memset(out, 0, kMargin);
}

const uint8_t JpegZigzag::kPlace[256] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26,
    33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50,
    43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53,
    60, 61, 54, 47, 55, 62, 63, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64,
};

}  // namespace feedrate
