#include "lib/media/jpeg_codes.h"

#include <cstring>

namespace feedrate {
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
    // One byte in some two hundred is 0xff.
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

}  // namespace feedrate
