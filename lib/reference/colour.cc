#include "lib/reference/colour.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

struct Rgb {
  double r = 0;
  double g = 0;
  double b = 0;
};

// function(group, colour) in place of each pixel of each RGB group.
template <typename Function>
Pixels MapColours(const Pixels& image, Function function) {
  Pixels result = image;
  const int groups = image.channels / 3;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const Rgb colour = function(
        static_cast<int>(i / 3 % groups),
        Rgb{image.values[i], image.values[i + 1], image.values[i + 2]});
    result.values[i] = colour.r;
    result.values[i + 1] = colour.g;
    result.values[i + 2] = colour.b;
  }
  return result;
}

double Luma(const Rgb& colour) {
  return 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b;
}

Rgb Blend(const Rgb& colour, double grey, double factor) {
  return {Saturate(grey + factor * (colour.r - grey)),
          Saturate(grey + factor * (colour.g - grey)),
          Saturate(grey + factor * (colour.b - grey))};
}

double Least(const Rgb& c) { return std::min({c.r, c.g, c.b}); }
double Greatest(const Rgb& c) { return std::max({c.r, c.g, c.b}); }

// Hue in turns, 0 for greys: 0 red, 1/3 green, 2/3 blue.
double Hue(const Rgb& c) {
  const double high = Greatest(c);
  const double span = high - Least(c);
  if (span == 0) return 0;
  double sixth = 0;
  if (high == c.r) {
    sixth = (c.g - c.b) / span;
  } else if (high == c.g) {
    sixth = 2 + (c.b - c.r) / span;
  } else {
    sixth = 4 + (c.r - c.g) / span;
  }
  return sixth / 6;
}

// How far the channel whose hue is `at` lies between the least (0) and the
// greatest (1) for a colour of hue `hue`: flat within a sixth of a turn, then
// falling over another sixth.
double ChannelHeight(double hue, double at) {
  double distance = std::abs(hue - at);
  distance =
      std::min(distance - std::floor(distance), std::ceil(distance) - distance);
  return std::clamp(2 - 6 * distance, 0.0, 1.0);
}

// The colour of that hue whose channels span low..high.
Rgb ColourOfHue(double hue, double low, double high) {
  const double span = high - low;
  return {low + span * ChannelHeight(hue, 0),
          low + span * ChannelHeight(hue, 1.0 / 3),
          low + span * ChannelHeight(hue, 2.0 / 3)};
}

// `colour` with another lightness (0..255) and the same hue and saturation.
Rgb WithLightness(const Rgb& colour, double lightness) {
  const double low = Least(colour);
  const double high = Greatest(colour);
  const double sum = low + high;
  const double room = sum <= 255 ? sum : 510 - sum;
  const double saturation = room <= 0 ? 0 : (high - low) / room;
  const double half = saturation * std::min(lightness, 255 - lightness);
  return ColourOfHue(Hue(colour), lightness - half, lightness + half);
}

}  // namespace

Pixels Grayscale(const Pixels& image) {
  return MapColours(image, [](int, const Rgb& c) {
    const double grey = Luma(c);
    return Rgb{grey, grey, grey};
  });
}

Pixels AdjustContrast(const Pixels& image, double factor) {
  std::vector<double> sums(image.channels / 3, 0.0);
  MapColours(image, [&](int group, const Rgb& c) {
    sums[group] += Luma(c);
    return c;
  });
  const double pixels = static_cast<double>(image.height) * image.width;
  return MapColours(image, [&](int group, const Rgb& c) {
    return Blend(c, sums[group] / pixels, factor);
  });
}

Pixels AdjustSaturation(const Pixels& image, double factor) {
  return MapColours(
      image, [=](int, const Rgb& c) { return Blend(c, Luma(c), factor); });
}

Pixels ShiftHue(const Pixels& image, double turns) {
  return MapColours(image, [=](int, const Rgb& c) {
    return ColourOfHue(Hue(c) + turns, Least(c), Greatest(c));
  });
}

Pixels BleachDark(const Pixels& image, double point, double factor) {
  return MapColours(image, [=](int, const Rgb& c) {
    const double lightness = (Least(c) + Greatest(c)) / 2;
    if (lightness >= 255 * point) return c;
    return WithLightness(c, Saturate(lightness * factor));
  });
}

}  // namespace feedrate
