// Last step of every recipe: bytes HWC to floats CHW, normalised, in one pass.
#ifndef FEEDRATE_LIB_LOADER_NORMALISE_H_
#define FEEDRATE_LIB_LOADER_NORMALISE_H_

#include <vector>

#include "lib/loader/pixels.h"

namespace feedrate {

// value * scale[c] + offset[c], of channel c of the output.
struct Normalisation {
  std::vector<float> scale;
  std::vector<float> offset;
  int channels() const { return static_cast<int>(scale.size()); }
};

// (value / input_scale - mean) / std, where mean and std begin again after
// their last until there are `channels`. REQUIRES: they are as many, not none.
Normalisation MakeNormalisation(const std::vector<double>& mean,
                                const std::vector<double>& std,
                                double input_scale, int channels);

// Writes one plane a channel to `out`, without gaps; mirrored left to right on
// request. A plane whose channel the image does not have repeats its channels
// from the first on. REQUIRES: the image's channels divide those of `how`.
void NormaliseToPlanes(const PixelView& image, bool mirror,
                       const Normalisation& how, float* out);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NORMALISE_H_
