// Floats of 16 bits, for processors and compilers without them.
#ifndef FEEDRATE_LIB_MEDIA_HALF_H_
#define FEEDRATE_LIB_MEDIA_HALF_H_

#include <cstdint>

namespace feedrate {

// The bits of `value` / 255 as an IEEE half, rounded to nearest, ties to even.
constexpr uint16_t HalfOf255th(uint8_t value) {
  if (value == 0) return 0;
  // value / 255 = fraction / 2^exponent with fraction in [1, 2), except that
  // nothing here is small enough to be denormal: 1 / 255 > 2^-14.
  int exponent = 0;
  while ((value << exponent) < 255) ++exponent;
  // 10 bits behind the point.
  const uint32_t numerator = static_cast<uint32_t>(value) << (exponent + 10);
  uint32_t fraction = numerator / 255;
  const uint32_t rest = 2 * (numerator % 255);
  if (rest > 255 || (rest == 255 && fraction % 2 == 1)) ++fraction;
  // A fraction that was rounded up to 2 carries into the exponent by itself.
  return static_cast<uint16_t>(((15 - exponent) << 10) + (fraction - 1024));
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_HALF_H_
