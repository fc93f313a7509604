#include "lib/loader/normalise.h"

#include <cstddef>
#include <cstdint>

namespace feedrate {
namespace {

// One row of one channel.
void Row(const uint8_t* in, int step, int width, bool mirror, float scale,
         float offset, float* out) {
  if (mirror) {
    in += static_cast<ptrdiff_t>(width - 1) * step;
    step = -step;
  }
  for (int x = 0; x < width; ++x) {
    out[x] = static_cast<float>(in[static_cast<ptrdiff_t>(x) * step]) * scale +
             offset;
  }
}

}  // namespace

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
  const size_t plane = static_cast<size_t>(image.height) * image.width;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const row = image.data + y * image.stride;
    float* const to = out + static_cast<size_t>(y) * image.width;
    for (int c = 0; c < how.channels(); ++c) {
      Row(row + c % image.channels, image.channels, image.width, mirror,
          how.scale[c], how.offset[c], to + c * plane);
    }
  }
}

}  // namespace feedrate
