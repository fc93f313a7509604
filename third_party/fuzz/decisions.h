// Turns the bytes of a fuzzer into decisions, for fuzzers that build an input
// with a known meaning instead of reading the bytes themselves. When the bytes
// are used up, every decision is 0, so choices that end something come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace feedrate {

class Decisions {
 public:
  Decisions(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  // From 0 to `bound` - 1. REQUIRES: 0 < bound <= 2^24.
  uint32_t Below(uint32_t bound) {
    uint32_t value = 0;
    for (uint32_t most = 1; most < bound; most <<= 8)
      value = value << 8 | Byte();
    return value % bound;
  }
  bool Yes() { return Below(2) == 1; }

  // Fewer than `bound` bytes of any value.
  std::string Bytes(uint32_t bound) {
    std::string bytes;
    for (uint32_t size = Below(bound); size > 0; --size) {
      bytes += static_cast<char>(Byte());
    }
    return bytes;
  }

 private:
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  const uint8_t* data_;
  size_t left_;
};

}  // namespace feedrate
