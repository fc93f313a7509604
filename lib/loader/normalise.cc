#include "lib/loader/normalise.h"

#include <cstddef>

#include "lib/loader/fused_planes.h"

namespace feedrate {

Normalisation MakeNormalisation(const std::vector<double>& mean,
                                const std::vector<double>& std,
                                double input_scale, int channels) {
  Normalisation how;
  for (int c = 0; c < channels; ++c) {
    const double deviation = std[c % std.size()];
    how.scale.push_back(static_cast<float>(1 / (input_scale * deviation)));
    how.offset.push_back(
        static_cast<float>(-mean[c % mean.size()] / deviation));
  }
  return how;
}

void NormaliseToPlanes(const PixelView& image, bool mirror,
                       const Normalisation& how, float* out) {
  PlanesInput input;
  input.data = image.data;
  input.stride = image.stride;
  input.height = image.height;
  input.width = image.width;
  input.channels = image.channels;
  const size_t plane = static_cast<size_t>(image.height) * image.width;
  for (int c = 0; c < how.channels(); c += image.channels) {
    PixelsToPlanes(input, mirror, &how.scale[c], &how.offset[c],
                   out + c * plane);
  }
}

}  // namespace feedrate
