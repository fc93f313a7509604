// Compares, hashes and scans text eight bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace feedrate {

// These functions read whole words, so 16 bytes after the text must be
// readable. Little-endian machines only, which is all that feedrate runs on.
inline constexpr size_t kWord = 8;

inline uint64_t LoadWord(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The first `size` bytes (1 to 8); the other bytes are zero.
inline uint64_t LoadPart(const char* at, size_t size) {
  return LoadWord(at) & (~uint64_t{0} >> (64 - 8 * size));
}

inline bool SameBytes(const char* a, const char* b, size_t size) {
  for (; size > kWord; size -= kWord, a += kWord, b += kWord) {
    if (LoadWord(a) != LoadWord(b)) return false;
  }
  return size == 0 || LoadPart(a, size) == LoadPart(b, size);
}

// SameBytes for long texts.
inline bool SameLong(const char* a, const char* b, size_t size) {
  constexpr size_t kStep = 4 * kWord;
  if (size < kStep) return SameBytes(a, b, size);
  const auto differ = [&](size_t i) {
    return (LoadWord(a + i) ^ LoadWord(b + i)) |
           (LoadWord(a + i + kWord) ^ LoadWord(b + i + kWord)) |
           (LoadWord(a + i + 2 * kWord) ^ LoadWord(b + i + 2 * kWord)) |
           (LoadWord(a + i + 3 * kWord) ^ LoadWord(b + i + 3 * kWord));
  };
  for (size_t i = 0; i + kStep < size; i += kStep) {
    if (differ(i) != 0) return false;
  }
  return differ(size - kStep) == 0;  // May overlap the last step.
}

// Sets the high bit of each byte that is a quote, a backslash, below a space or
// above 127. Carries corrupt only the bytes after the first such byte.
inline uint64_t EndsOfPlain(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  constexpr uint64_t kHigh = 0x8080808080808080u;
  const uint64_t quote = word ^ (kOnes * '"');
  const uint64_t escape = word ^ (kOnes * '\\');
  return (((quote - kOnes) & ~quote) | ((escape - kOnes) & ~escape) |
          (word - kOnes * ' ') | word) &
         kHigh;
}

// `at` is just after the opening quote of a JSON string; returns the place just
// after its closing quote. Null if the string holds an escape, a control
// character or a byte above 127, which need a full parser. A control character
// must follow the text, so that the scan stops at an unterminated string.
inline const char* PlainStringEnd(const char* at) {
  // Two words per step without a branch between them: most strings end in one
  // of the two, and the CPU cannot predict which.
  for (;; at += 2 * kWord) {
    const uint64_t first = EndsOfPlain(LoadWord(at));
    const uint64_t second = EndsOfPlain(LoadWord(at + kWord));
    if ((first | second) == 0) continue;
    const uint64_t found = first != 0 ? first : second;
    const char* end = at + (first != 0 ? 0 : kWord) +
                      static_cast<size_t>(__builtin_ctzll(found)) / 8;
    return *end == '"' ? end + 1 : nullptr;
  }
}

// Multiplies to 128 bits and folds: every input bit reaches every output bit.
inline uint64_t MixWord(uint64_t word, uint64_t odd) {
  const unsigned __int128 product = static_cast<unsigned __int128>(word) * odd;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline constexpr uint64_t kOdd1 = 0x9E3779B97F4A7C15u;
inline constexpr uint64_t kOdd2 = 0xD6E8FEB86659FD93u;

// Gives different values for different seeds. Not a cryptographic hash.
inline uint64_t HashBytes(const char* at, size_t size, uint64_t seed) {
  uint64_t hash = seed ^ (size * kOdd2);
  for (; size > kWord; size -= kWord, at += kWord) {
    hash = MixWord(hash ^ LoadWord(at), kOdd1);
  }
  return MixWord(hash ^ (size == 0 ? 0 : LoadPart(at, size)), kOdd2);
}

// A faster hash for long texts: four words per step, in two independent chains.
// Its values differ from those of HashBytes.
inline uint64_t HashLong(const char* at, size_t size) {
  constexpr size_t kStep = 4 * kWord;
  if (size < kStep) return HashBytes(at, size, kOdd1);
  uint64_t one = size;
  uint64_t two = kOdd1;
  const auto take = [&](const char* from) {
    one = MixWord(LoadWord(from) ^ one, LoadWord(from + kWord) ^ kOdd1);
    two = MixWord(LoadWord(from + 2 * kWord) ^ two,
                  LoadWord(from + 3 * kWord) ^ kOdd2);
  };
  const char* const last = at + size - kStep;
  for (; at < last; at += kStep) take(at);
  take(last);  // May overlap the last step.
  return MixWord(one ^ kOdd2, two ^ kOdd1);
}

// The functions below find the end of a value in a line of JSON. They need a
// newline somewhere after the value, and kScanPadding readable bytes after
// that.
inline constexpr size_t kScanPadding = 64;

// Continues StringEnd at the first byte of a string that is not plain.
const char* OddStringEnd(const char* start);

// `at` is just after the opening quote of a JSON string; returns the place just
// after its closing quote. Null if the string holds a control character or is
// not UTF-8. Does not check what follows a backslash.
inline const char* StringEnd(const char* at) {
  const char* const end = PlainStringEnd(at);
  return end != nullptr ? end : OddStringEnd(at);
}

inline const char* AfterSpaces(const char* at) {
  while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
  return at;
}

// Just after the list or object that starts at `at`; null if no end is found.
// Counts brackets without matching their kinds.
inline const char* NestedEnd(const char* at) {
  int depth = 0;
  for (;;) {
    const char c = *at++;
    if (c == '"') {
      at = StringEnd(at);
      if (at == nullptr) return nullptr;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return at;
    } else if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r') {
      return nullptr;
    }
  }
}

// Just after the value that starts at `at`; null if it is not a value. Does not
// check that numbers are well formed: that is done when a number is used.
inline const char* ValueEnd(const char* at) {
  const char c = *at;
  if (c == '"') return StringEnd(at + 1);
  if (c == '{' || c == '[') return NestedEnd(at);
  if ((c < '0' || c > '9') && c != '-' && c != 't' && c != 'f' && c != 'n') {
    return nullptr;
  }
  while (*at > ' ' && *at != ',' && *at != '}' && *at != ']') ++at;
  return at;
}

// Hashes that are the same in every process, so that results are reproducible.

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
