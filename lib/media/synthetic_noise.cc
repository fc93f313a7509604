#include "lib/media/synthetic_noise.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "lib/media/synthetic_random.h"

namespace feedrate {
namespace {

// How many values the level above needs to be doubled to `length`.
int HalfLength(int length) { return length / 2 + 2; }

// Doubling by the weights 3/4 and 1/4, again and again, tends to a quadratic
// spline: no corners, no grid to be seen.
void DoubleRow(const int16_t* in, int length, int16_t* out) {
  for (int i = 0; i < length / 2; ++i) {
    const int a = in[i];
    const int b = in[i + 1];
    out[2 * i] = static_cast<int16_t>((3 * a + b + 2) >> 2);
    out[2 * i + 1] = static_cast<int16_t>((a + 3 * b + 2) >> 2);
  }
  if (length % 2 != 0) {
    const int i = length / 2;
    out[length - 1] = static_cast<int16_t>((3 * in[i] + in[i + 1] + 2) >> 2);
  }
}

void MixRows(const int16_t* near, const int16_t* far, int length,
             int16_t* out) {
  for (int i = 0; i < length; ++i) {
    out[i] = static_cast<int16_t>((3 * near[i] + far[i] + 2) >> 2);
  }
}

void AddNoise(uint32_t key, int amplitude, int length, int16_t* out) {
  for (int i = 0; i < length; ++i) {
    const int centred =
        static_cast<int>(PixelHash(key, static_cast<uint32_t>(i)) >> 23) - 256;
    out[i] = static_cast<int16_t>(out[i] + ((centred * amplitude) >> 8));
  }
}

uint32_t RowKey(uint64_t key, int level, int y) {
  return static_cast<uint32_t>(
      SyntheticRandom(key + (static_cast<uint64_t>(level) << 32) + y).Next());
}

NoiseField Double(const NoiseField& in, int width, int height) {
  NoiseField out{width, height,
                 std::vector<int16_t>(static_cast<size_t>(width) * height)};
  std::vector<int16_t> above(width);
  std::vector<int16_t> below(width);
  DoubleRow(in.row(0), width, above.data());
  for (int y = 0; y < height; ++y) {
    if (y % 2 == 0) DoubleRow(in.row(y / 2 + 1), width, below.data());
    int16_t* to = out.values.data() + static_cast<size_t>(y) * width;
    if (y % 2 == 0) {
      MixRows(above.data(), below.data(), width, to);
    } else {
      MixRows(below.data(), above.data(), width, to);
      above.swap(below);
    }
  }
  return out;
}

NoiseField MakeLevel(int width, int height, const std::vector<int>& amplitudes,
                     size_t level, uint64_t key) {
  NoiseField field;
  if (level + 1 < amplitudes.size()) {
    field = Double(MakeLevel(HalfLength(width), HalfLength(height), amplitudes,
                             level + 1, key),
                   width, height);
  } else {
    field = {width, height,
             std::vector<int16_t>(static_cast<size_t>(width) * height)};
  }
  if (amplitudes[level] == 0) return field;
  for (int y = 0; y < height; ++y) {
    AddNoise(RowKey(key, static_cast<int>(level), y), amplitudes[level], width,
             field.values.data() + static_cast<size_t>(y) * width);
  }
  return field;
}

}  // namespace

NoiseField MakeNoise(int width, int height, const std::vector<int>& amplitudes,
                     uint64_t key) {
  return MakeLevel(width, height, amplitudes, 0, key);
}

std::vector<int16_t> MakeNoiseLine(int length,
                                   const std::vector<int>& amplitudes,
                                   uint64_t key) {
  std::vector<int16_t> line = MakeNoise(length, 1, amplitudes, key).values;
  line.resize(length);
  return line;
}

}  // namespace feedrate
