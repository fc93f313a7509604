// Images of doubles, for computing references.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedrate {

// An image with unrounded values 0..255: rows from top to bottom, the channels
// of a pixel side by side.
struct Pixels {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<double> values;

  Pixels() = default;
  // All zeros. REQUIRES: nothing is negative.
  Pixels(int height, int width, int channels)
      : height(height),
        width(width),
        channels(channels),
        values(static_cast<size_t>(height) * width * channels) {}

  double& at(int y, int x, int c) { return values[Index(y, x, c)]; }
  double at(int y, int x, int c) const { return values[Index(y, x, c)]; }

  bool SameShape(const Pixels& other) const {
    return height == other.height && width == other.width &&
           channels == other.channels;
  }

 private:
  size_t Index(int y, int x, int c) const {
    return (static_cast<size_t>(y) * width + x) * channels + c;
  }
};

// The bytes of an image, HWC without gaps, as doubles.
inline Pixels PixelsFromBytes(const uint8_t* data, int height, int width,
                              int channels) {
  Pixels pixels(height, width, channels);
  std::copy_n(data, pixels.values.size(), pixels.values.begin());
  return pixels;
}

// `value` clamped to 0..255.
inline double Saturate(double value) { return std::clamp(value, 0.0, 255.0); }

// What a library makes of `value` when it stores a byte: the nearest integer,
// halves to even, clamped to 0..255.
inline double AsByte(double value) { return std::nearbyint(Saturate(value)); }

// `image` with `function`, from double to double, applied to each value.
template <typename Function>
Pixels MapValues(const Pixels& image, Function function) {
  Pixels result = image;
  for (double& value : result.values) value = function(value);
  return result;
}

}  // namespace feedrate
