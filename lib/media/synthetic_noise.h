// Smooth random fields, in integers. For synthetic*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_SYNTHETIC_NOISE_H_
#define FEEDRATE_LIB_MEDIA_SYNTHETIC_NOISE_H_

#include <cstdint>
#include <vector>

namespace feedrate {

struct NoiseField {
  int width = 0;
  int height = 0;
  std::vector<int16_t> values;  // Rows without gaps.

  const int16_t* row(int y) const {
    return values.data() + static_cast<int64_t>(y) * width;
  }
};

// A field of `width` x `height` from octaves of noise. `amplitudes[k]` is the
// largest value of the octave whose features are about 2^k pixels wide, so
// amplitudes in proportion to 2^k give the falling spectrum of photographs.
// Values stay within the sum of the amplitudes. REQUIRES: that sum < 8,000.
NoiseField MakeNoise(int width, int height, const std::vector<int>& amplitudes,
                     uint64_t key);

// The same in one dimension.
std::vector<int16_t> MakeNoiseLine(int length,
                                   const std::vector<int>& amplitudes,
                                   uint64_t key);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_SYNTHETIC_NOISE_H_
