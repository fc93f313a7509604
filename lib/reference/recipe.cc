#include "lib/reference/recipe.h"

#include <cmath>
#include <vector>

#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// A float holds a normalised byte to about 1e-5 of its steps; libraries that
// multiply by a rounded 1/std stay below this, too.
constexpr double kWhole = 0.01;

bool AreBytes(const Pixels& pixels) {
  for (const double value : pixels.values) {
    if (std::abs(value - std::round(value)) > kWhole) return false;
  }
  return true;
}

}  // namespace

Pixels RepeatChannels(const Pixels& image, int channels) {
  Pixels result(image.height, image.width, channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        result.at(y, x, c) = image.at(y, x, c % image.channels);
      }
    }
  }
  return result;
}

LibraryOutput UndoNormalisation(const LibraryOutput& output,
                                const std::vector<double>& mean,
                                const std::vector<double>& std) {
  LibraryOutput result = output;
  Pixels& pixels = result.pixels;
  for (size_t i = 0; i < pixels.values.size(); ++i) {
    const size_t c = i % pixels.channels % mean.size();
    // ReadOutput took it for 0..1 and made 0..255 of it.
    pixels.values[i] = pixels.values[i] * std[c] + 255 * mean[c];
  }
  result.bytes = AreBytes(pixels);
  if (!result.bytes) return result;
  for (double& value : pixels.values) value = std::round(value);
  return result;
}

}  // namespace feedrate
