// Converts decoded inputs to another form: floats, channels first, more
// channels.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/media/corpus.h"

namespace feedrate {

struct CorpusForm {
  DType dtype = DType::kUint8;
  Layout layout = Layout::kHwc;
  // 0 keeps the channels of the items. Otherwise a multiple of that: the
  // channels are repeated, so that 9 channels of an RGB image are R G B R G B R
  // G B.
  int channels = 0;
};

// A new corpus with the items of `corpus` in another form. Floats are value /
// 255, correctly rounded. Runs on `threads` threads; 0 uses as many as there
// are usable processors. REQUIRES: `corpus` is uint8, HWC.
//
// ResourceExhausted when it does not fit into memory; the message names the
// largest num_items that does.
absl::StatusOr<Corpus> ConvertCorpus(const Corpus& corpus,
                                     const CorpusForm& form, int threads);

// The bits of `value` / 255 as an IEEE half, rounded to nearest, ties to even.
// For processors and compilers without 16-bit floats.
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
