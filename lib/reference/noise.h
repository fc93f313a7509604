// Whether an output is the input with noise of a certain kind.
#ifndef FEEDRATE_LIB_REFERENCE_NOISE_H_
#define FEEDRATE_LIB_REFERENCE_NOISE_H_

#include <string>

#include "lib/reference/pixels.h"

namespace feedrate {

// A distribution's first two moments.
struct Moments {
  double mean = 0;
  double variance = 0;
};

// Of `value` plus Gaussian noise of that standard deviation, saturated to
// 0..255. REQUIRES: std > 0.
Moments SaturatedNoise(double value, double std);

// Each returns what does not fit, or nothing.

// `output` is `input` plus independent Gaussian noise of standard deviation
// `std`, saturating: mean and variance are near those expected.
std::string NotGaussianNoise(const Pixels& input, const Pixels& output,
                             double std);

// The parts that a salt-and-pepper draw may have.
struct SaltAndPepper {
  double low_amount = 0;
  double high_amount = 0;
  // Of the changed pixels, those that become white.
  double low_salt = 0;
  double high_salt = 0;
};
// `output` is `input` but for single pixels that became white or black in all
// channels, as many as `parts` says.
std::string NotSaltAndPepper(const Pixels& input, const Pixels& output,
                             const SaltAndPepper& parts);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_NOISE_H_
