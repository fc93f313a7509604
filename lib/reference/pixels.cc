#include "lib/reference/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace feedrate {

Pixels::Pixels(int height, int width, int channels)
    : height(height),
      width(width),
      channels(channels),
      values(static_cast<size_t>(height) * width * channels) {}

Pixels PixelsFromBytes(const uint8_t* data, int height, int width,
                       int channels) {
  Pixels pixels(height, width, channels);
  std::copy_n(data, pixels.values.size(), pixels.values.begin());
  return pixels;
}

double AsByte(double value) { return std::nearbyint(Saturate(value)); }

double Saturate(double value) { return std::clamp(value, 0.0, 255.0); }

}  // namespace feedrate
