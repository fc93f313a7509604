// How alike two images are.
#ifndef FEEDRATE_LIB_REFERENCE_SIMILARITY_H_
#define FEEDRATE_LIB_REFERENCE_SIMILARITY_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// REQUIRES, of all here: the same shape, not empty.

// The largest difference of one value.
double MaxAbsDiff(const Pixels& a, const Pixels& b);

// 10 log10(255^2 / mean square difference); infinite when equal.
double Psnr(const Pixels& a, const Pixels& b);

// Mean structural similarity (Wang et al., 2004: K1 = 0.01, K2 = 0.03) of 8x8
// windows, four pixels apart, over all channels. A side shorter than 8 is one
// window. 1 when equal.
double Ssim(const Pixels& a, const Pixels& b);

// Whether `output` fits `reference` better where it is than half a pixel away
// in any of the eight directions. Half a pixel of displacement, the mistake of
// a library that takes edges for centres, can leave a good PSNR on a smooth
// image. True for images too small to tell.
bool BestUnshifted(const Pixels& output, const Pixels& reference);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_SIMILARITY_H_
