// Transforms in which each value depends on its neighborhood: filters,
// tile-wise histogram equalization, JPEG.
#pragma once

#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// What lies beyond the border, for a row a b c d.
enum class Border {
  kReflect,    // c b | a b c d | c b: the outermost pixel is not repeated.
  kReplicate,  // a a | a b c d | d d
};

// Maps row or column `at` of `size`, which may be beyond the border, to one
// inside. REQUIRES: size >= 1.
int InsideIndex(int at, int size, Border border);

// Weights of height x width, row by row; both are odd.
struct Kernel {
  int height = 0;
  int width = 0;
  std::vector<double> weights;
};

// Samples of a Gaussian, with sum 1. REQUIRES: an odd size, sigma > 0.
Kernel GaussianKernel(int size, double sigma);
// Equal weights, with sum 1.
Kernel BoxKernel(int height, int width);

// The weighted sum of each value's neighborhood (correlation: the kernel is not
// flipped), saturating.
Pixels Filter(const Pixels& image, const Kernel& kernel, Border border);

// The median of a square neighborhood. REQUIRES: an odd size.
Pixels Median(const Pixels& image, int size, Border border);

// Scales the distance from a smoothed image by `factor`; 1 changes nothing. The
// smoothing gives the pixel weight 5 and each of its eight neighbors weight 1;
// the outermost rows and columns stay.
Pixels Sharpen(const Pixels& image, double factor);

// Adds `amount` times the difference from a Gaussian blur where that difference
// is above `threshold`, saturating.
Pixels UnsharpMask(const Pixels& image, int size, double sigma, double amount,
                   double threshold);

// Contrast limited adaptive histogram equalization (CLAHE) of the lightness L*
// of CIE Lab (sRGB, D65) in 256 steps; a* and b* stay. The image is cut into
// tiles x tiles; in each, counts above `clip_limit` times the mean count are
// shared out evenly before they are summed; between the middles of tiles the
// results are interpolated. An image that the tiles do not fit is continued by
// reflection. REQUIRES: three channels, at least as many pixels as tiles on
// each side, tiles >= 1.
Pixels EqualizeTiles(const Pixels& image, double clip_limit, int tiles);

// The image encoded as baseline JPEG at `quality` and decoded: YCbCr of JFIF,
// chroma halved both ways, the tables of ITU-T T.81 Annex K scaled as the
// Independent JPEG Group does, both cosine transforms exact, chroma doubled by
// a triangle filter. Entropy coding loses nothing and is left out. Each group
// of three channels is an image of its own. REQUIRES: 1 <= quality <= 100; the
// number of channels is a multiple of three.
Pixels JpegRoundTrip(const Pixels& image, int quality);

}  // namespace feedrate
