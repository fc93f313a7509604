// Random numbers that are the same on every machine. For synthetic data only.
#pragma once

#include <cstdint>

namespace feedrate {

// SplitMix64. The distributions of <random> differ between standard libraries,
// so this has its own.
class SyntheticRandom {
 public:
  explicit SyntheticRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // An integer from `low` to `high`, both included.
  int Between(int low, int high) {
    const uint64_t span = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int>((Next() >> 32) * span >> 32);
  }

 private:
  uint64_t state_;
};

// Good enough for pixels, and short enough for vector code.
inline uint32_t PixelHash(uint32_t key, uint32_t position) {
  uint32_t x = (position * 0x9e3779b1u) ^ key;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace feedrate
