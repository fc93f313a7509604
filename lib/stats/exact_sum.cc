#include "lib/stats/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace feedrate {
namespace {

constexpr int kMantissaBits = 52;
// Of the lowest mantissa bit of a number with stored exponent 1 (and 0).
constexpr int kLowestPower = -1074;

}  // namespace

void ExactSum::Add(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  int exponent = static_cast<int>(bits >> kMantissaBits) & 0x7FF;
  int64_t mantissa =
      static_cast<int64_t>(bits & ((uint64_t{1} << kMantissaBits) - 1));
  if (exponent == 0) {
    // Subnormal: no hidden bit, and the power of exponent 1.
    exponent = 1;
  } else {
    mantissa |= int64_t{1} << kMantissaBits;
  }
  bins_[exponent] += (bits >> 63) != 0 ? -mantissa : mantissa;
  low_ = std::min(low_, exponent);
  high_ = std::max(high_, exponent);
}

double ExactSum::Total() const {
  // The bins are exact whatever the order was; from here on the order is fixed.
  double sum = 0;
  double lost = 0;
  for (int i = high_; i >= low_; --i) {
    const double term =
        std::ldexp(static_cast<double>(bins_[i]), i - 1 + kLowestPower);
    // Neumaier's correction: what the addition rounds off is kept apart.
    const double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term
                                            : (term - next) + sum;
    sum = next;
  }
  return sum + lost;
}

void ExactSum::Clear() {
  for (int i = low_; i <= high_; ++i) bins_[i] = 0;
  low_ = kExponents;
  high_ = -1;
}

}  // namespace feedrate
