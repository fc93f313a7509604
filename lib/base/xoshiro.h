// A fast random number generator for simulations.
#pragma once

#include <cmath>
#include <cstdint>

namespace feedrate {
// The random numbers of everything that must be the same on every machine: the
// distributions of <random> differ between standard libraries.

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

// xoshiro256++ by Blackman and Vigna, seeded by SplitMix64. Gives the same
// numbers on every machine, which the standard library's distributions do not
// guarantee.
class Xoshiro256 {
 public:
  explicit Xoshiro256(uint64_t seed) {
    SplitMix64 seeds(seed);
    for (uint64_t& word : state_) word = seeds.Next();
  }

  uint64_t Bits() {
    const uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // In (0, 1).
  double Uniform() { return ((Bits() >> 11) + 0.5) * 0x1p-53; }
  bool Coin() { return (Bits() >> 63) != 0; }
  // In [0, n). The bias of n / 2^64 is negligible.
  uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * n) >>
                                 64);
  }

  // Standard normal, by Marsaglia's polar method.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x, y, square;
    do {
      x = 2 * Uniform() - 1;
      y = 2 * Uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1);
    const double scale = std::sqrt(-2 * std::log(square) / square);
    spare_ = y * scale;
    has_spare_ = true;
    return x * scale;
  }

  double Exponential() { return -std::log(Uniform()); }

 private:
  static uint64_t Rotate(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
  }

  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace feedrate
