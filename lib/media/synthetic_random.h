// Random numbers that are the same on every machine. For synthetic data only.
#pragma once

#include <cstdint>

#include "lib/base/xoshiro.h"

namespace feedrate {

class SyntheticRandom : public SplitMix64 {
 public:
  using SplitMix64::SplitMix64;

  // An integer from `low` to `high`, both included.
  int Between(int low, int high) {
    const uint64_t span = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int>((Next() >> 32) * span >> 32);
  }
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
