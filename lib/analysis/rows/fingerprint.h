// Hashes that are the same in every process, so that results are reproducible.
#pragma once

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace feedrate {

// 64-bit FNV-1a over a sequence of values, with a final mix that spreads the
// last ones. Not safe against adversaries. Two different rows collide with
// probability 2^-64.
class Fingerprint {
 public:
  Fingerprint& Add(absl::string_view text) {
    for (const char c : text) Step(static_cast<unsigned char>(c));
    return Number(text.size());  // "ab","c" is not "a","bc".
  }
  Fingerprint& Number(uint64_t value) {
    hash_ = (hash_ ^ value) * kPrime;
    hash_ ^= hash_ >> 29;  // FNV alone never mixes high bits into low ones.
    return *this;
  }
  Fingerprint& Double(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return Number(bits);
  }

  uint64_t value() const {
    uint64_t h = hash_;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
  }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3u;

  void Step(unsigned char byte) { hash_ = (hash_ ^ byte) * kPrime; }

  uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace feedrate
