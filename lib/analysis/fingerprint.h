// Hashes that are the same in every process, for answers that are too.
#ifndef FEEDRATE_LIB_ANALYSIS_FINGERPRINT_H_
#define FEEDRATE_LIB_ANALYSIS_FINGERPRINT_H_

#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace feedrate {

// FNV-1a of 64 bits over a sequence of values, closed by a mix that spreads
// the last ones. Not for adversaries: equal fingerprints of different rows
// are an accident of one in 2^64.
class Fingerprint {
 public:
  Fingerprint& Add(absl::string_view text) {
    for (const char c : text) Step(static_cast<unsigned char>(c));
    return Number(text.size());  // "ab","c" is not "a","bc".
  }
  Fingerprint& Number(uint64_t value) {
    hash_ = (hash_ ^ value) * kPrime;
    hash_ ^= hash_ >> 29;  // FNV alone leaves high bits out of low ones.
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

#endif  // FEEDRATE_LIB_ANALYSIS_FINGERPRINT_H_
