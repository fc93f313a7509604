// Transforms in which each value depends on its neighbourhood.
#ifndef FEEDRATE_LIB_REFERENCE_FILTER_H_
#define FEEDRATE_LIB_REFERENCE_FILTER_H_

#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// What lies beyond the border, for a row a b c d.
enum class Border {
  kReflect,    // c b | a b c d | c b: the outermost pixel is not repeated.
  kReplicate,  // a a | a b c d | d d
};

// Row or column `at` of `size`, which may be beyond the border, as one that is
// inside. REQUIRES: size >= 1.
int InsideIndex(int at, int size, Border border);

// Weights of height x width, row by row; both are odd.
struct Kernel {
  int height = 0;
  int width = 0;
  std::vector<double> weights;
};

// Samples of a Gaussian, of sum 1. REQUIRES: an odd size, sigma > 0.
Kernel GaussianKernel(int size, double sigma);
// All the same, of sum 1.
Kernel BoxKernel(int height, int width);

// The weighted sum of each value's neighbourhood (correlation: the kernel is
// not turned round), saturating.
Pixels Filter(const Pixels& image, const Kernel& kernel, Border border);

// The median of a square neighbourhood. REQUIRES: an odd size.
Pixels Median(const Pixels& image, int size, Border border);

// Away from a smoothed image by `factor`: 1 leaves it as it is. The smoothing
// weighs the pixel 5 and each of its eight neighbours 1; the outermost rows and
// columns stay.
Pixels Sharpen(const Pixels& image, double factor);

// Adds `amount` of the difference from a Gaussian blur where that difference is
// above `threshold`, saturating.
Pixels UnsharpMask(const Pixels& image, int size, double sigma, double amount,
                   double threshold);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_FILTER_H_
