// The random numbers of everything that must be the same on every machine: the
// distributions of <random> differ between standard libraries.
#pragma once

#include <cstdint>

namespace feedrate {

// One addition and two multiplications per draw; any seed is good.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace feedrate
