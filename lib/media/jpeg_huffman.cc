#include "lib/media/jpeg_huffman.h"

#include <algorithm>
#include <cstring>
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
    // Worth its making only for codes that come again and again, which the
    // standard's do.
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
  // Sixteen zeros, or nothing but zeros.
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
    // No code is all ones, and none is longer than its length.
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

// As many codes as can be told from the bits of the look; the value after the
// last may reach beyond.
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
      if (advance >= 64) break;  // The end of the block, or nonsense.
    }
    if (bits > 0) skip_[look] = JpegCodes::Make(bits, advance, before_last);
  }
}

}  // namespace feedrate
