// Checks of transforms that are random by nature: instead of comparing with one
// draw, checks whether the output is a possible draw.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// Result of checking an output.
struct DrawCheck {
  // Whether the transform can draw it; for noise, whether it is likely to.
  bool possible = false;
  // Whether every pixel has a value that the definition can produce. Always
  // false for noise, which can produce any value: there, `possible` means that
  // the output is likely enough.
  bool exact = false;
  // A readable text: what does not fit. Empty when possible.
  std::string problem;
};

// Whether `output` is a draw of `reference` for `input`. InvalidArgument names
// the operation and what is wrong with it. REQUIRES: kind DISTRIBUTION.
absl::StatusOr<DrawCheck> CheckDraw(const Reference& reference,
                                    const Pixels& input, const Pixels& output);

// The operations that CheckDraw knows, sorted.
std::vector<std::string> DistributionOps();

// Checks whether an output is made of pieces of the input. Each returns what
// does not fit, or an empty string.

// `output` is a window of height x width somewhere in `input`, which has zeros
// around it on the sides where it is smaller.
std::string NotAWindow(const Pixels& input, const Pixels& output, int height,
                       int width);

// Each channel of `output` is one of `input`, and each of those is used once.
std::string NotPermutedChannels(const Pixels& input, const Pixels& output);

// `output` is `input` except for one rectangle of zeros whose area is from
// `low` to `high` of the image, plus or minus a row and a column.
std::string NotOneRectangle(const Pixels& input, const Pixels& output,
                            double low, double high);

// The tiles of a grid of rows x columns swapped places; only their middles are
// compared. Where tiles do not fit the image, libraries cut it in different
// ways, so middles are searched up to a few pixels away.
std::string NotShuffledTiles(const Pixels& input, const Pixels& output,
                             int rows, int columns);

// Whether two values are the same up to the rounding of float32.
bool SameValue(double a, double b);

// Checks whether an output is the input with noise of a certain kind.

// The first two moments of a distribution.
struct Moments {
  double mean = 0;
  double variance = 0;
};

// Moments of `value` plus Gaussian noise of that standard deviation, saturated
// to 0..255. REQUIRES: std > 0.
Moments SaturatedNoise(double value, double std);

// These return what does not fit, or an empty string.

// `output` is `input` plus independent Gaussian noise of standard deviation
// `std`, saturating: mean and variance are near those expected.
std::string NotGaussianNoise(const Pixels& input, const Pixels& output,
                             double std);

// The shares that a salt-and-pepper draw may have.
struct SaltAndPepper {
  double low_amount = 0;
  double high_amount = 0;
  // Share of the changed pixels that become white.
  double low_salt = 0;
  double high_salt = 0;
};
// `output` is `input` except for single pixels that became white or black in
// all channels, in shares within `parts`.
std::string NotSaltAndPepper(const Pixels& input, const Pixels& output,
                             const SaltAndPepper& parts);

}  // namespace feedrate
