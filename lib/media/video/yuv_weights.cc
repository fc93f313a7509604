#include "lib/media/video/yuv_weights.h"

#include <cmath>
#include <cstdint>

namespace feedrate {

YuvWeights MakeYuvWeights(double red, double blue, bool full_range) {
  const double chroma = 64 * 255.0 / (full_range ? 255 : 224);
  const double green = 1 - red - blue;
  const auto whole = [](double value) {
    return static_cast<int16_t>(std::lround(value));
  };
  YuvWeights weights;
  weights.black = full_range ? 0 : 16;
  weights.y = whole(128 * 255.0 / (full_range ? 255 : 219));
  weights.red_v = whole(chroma * 2 * (1 - red));
  weights.green_u = whole(chroma * 2 * (1 - blue) * blue / green);
  weights.green_v = whole(chroma * 2 * (1 - red) * red / green);
  weights.blue_u = whole(chroma * 2 * (1 - blue));
  return weights;
}

}  // namespace feedrate
