// Random draws inside timed calls: seeded, and cheap beside what they decide.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_RANDOM_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/adapters/worker/params.h"

namespace feedrate {

// SplitMix64: one addition and two multiplications a draw, any seed is good.
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // From 0 to 1, 1 excluded.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  double Uniform(double low, double high) {
    return low + (high - low) * Unit();
  }
  // What is fixed needs no draw.
  double Uniform(const Range& range) {
    return range.fixed() ? range.low : Uniform(range.low, range.high);
  }

  // A whole number from 0 to n - 1. REQUIRES: 0 < n < 2^31; the bias of the
  // multiplication is then below 2^-33.
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(((Next() >> 32) * static_cast<uint64_t>(n)) >>
                                32);
  }
  // A whole number of the range, both ends included.
  int64_t Integer(const Range& range) {
    const auto low = static_cast<int64_t>(range.low);
    return low + Below(static_cast<int64_t>(range.high) - low + 1);
  }

  bool Coin() { return (Next() >> 63) != 0; }

  // A draw from the standard normal distribution.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    return radius * std::cos(6.283185307179586 * Unit());
  }

  // Brings `values` into an order, each as likely.
  template <typename T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i) {
      std::swap((*values)[i - 1], (*values)[Below(i)]);
    }
  }

 private:
  uint64_t state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_RANDOM_H_
