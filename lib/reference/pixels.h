// Images of doubles, in which references are computed.
#ifndef FEEDRATE_LIB_REFERENCE_PIXELS_H_
#define FEEDRATE_LIB_REFERENCE_PIXELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedrate {

// An image of values 0..255 that are not rounded: rows from top to bottom, the
// channels of a pixel side by side.
struct Pixels {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<double> values;

  Pixels() = default;
  // All zeros. REQUIRES: nothing is negative.
  Pixels(int height, int width, int channels);

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
Pixels PixelsFromBytes(const uint8_t* data, int height, int width,
                       int channels);

// What a library makes of `value` when it stores a byte: the nearest whole
// number, halves to even, within 0..255.
double AsByte(double value);

// `value` within 0..255.
double Saturate(double value);

// `image` with `function`, from double to double, done to each value.
template <typename Function>
Pixels MapValues(const Pixels& image, Function function) {
  Pixels result = image;
  for (double& value : result.values) value = function(value);
  return result;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_PIXELS_H_
