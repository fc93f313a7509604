#include "lib/reference/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace feedrate {
namespace {

struct Rgb {
  double r = 0;
  double g = 0;
  double b = 0;
};

// function(group, color) in place of each pixel of each RGB group.
template <typename Function>
Pixels MapColors(const Pixels& image, Function function) {
  Pixels result = image;
  const int groups = image.channels / 3;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const Rgb color = function(
        static_cast<int>(i / 3 % groups),
        Rgb{image.values[i], image.values[i + 1], image.values[i + 2]});
    result.values[i] = color.r;
    result.values[i + 1] = color.g;
    result.values[i + 2] = color.b;
  }
  return result;
}

double Luma(const Rgb& color) {
  return 0.299 * color.r + 0.587 * color.g + 0.114 * color.b;
}

Rgb Blend(const Rgb& color, double gray, double factor) {
  return {Saturate(gray + factor * (color.r - gray)),
          Saturate(gray + factor * (color.g - gray)),
          Saturate(gray + factor * (color.b - gray))};
}

double Least(const Rgb& c) { return std::min({c.r, c.g, c.b}); }
double Greatest(const Rgb& c) { return std::max({c.r, c.g, c.b}); }

// Hue in turns, 0 for grays: 0 red, 1/3 green, 2/3 blue.
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

// Position of the channel whose hue is `at` between the smallest (0) and the
// largest (1) for a color of hue `hue`: flat within a sixth of a turn, then
// falling over another sixth.
double ChannelHeight(double hue, double at) {
  double distance = std::abs(hue - at);
  distance =
      std::min(distance - std::floor(distance), std::ceil(distance) - distance);
  return std::clamp(2 - 6 * distance, 0.0, 1.0);
}

// The color of that hue whose channels span low..high.
Rgb ColorOfHue(double hue, double low, double high) {
  const double span = high - low;
  return {low + span * ChannelHeight(hue, 0),
          low + span * ChannelHeight(hue, 1.0 / 3),
          low + span * ChannelHeight(hue, 2.0 / 3)};
}

// `color` with another lightness (0..255) and the same hue and saturation.
Rgb WithLightness(const Rgb& color, double lightness) {
  const double low = Least(color);
  const double high = Greatest(color);
  const double sum = low + high;
  const double room = sum <= 255 ? sum : 510 - sum;
  const double saturation = room <= 0 ? 0 : (high - low) / room;
  const double half = saturation * std::min(lightness, 255 - lightness);
  return ColorOfHue(Hue(color), lightness - half, lightness + half);
}

}  // namespace

Pixels Grayscale(const Pixels& image) {
  return MapColors(image, [](int, const Rgb& c) {
    const double gray = Luma(c);
    return Rgb{gray, gray, gray};
  });
}

Pixels AdjustContrast(const Pixels& image, double factor) {
  std::vector<double> sums(image.channels / 3, 0.0);
  MapColors(image, [&](int group, const Rgb& c) {
    sums[group] += Luma(c);
    return c;
  });
  const double pixels = static_cast<double>(image.height) * image.width;
  return MapColors(image, [&](int group, const Rgb& c) {
    return Blend(c, sums[group] / pixels, factor);
  });
}

Pixels AdjustSaturation(const Pixels& image, double factor) {
  return MapColors(
      image, [=](int, const Rgb& c) { return Blend(c, Luma(c), factor); });
}

Pixels ShiftHue(const Pixels& image, double turns) {
  return MapColors(image, [=](int, const Rgb& c) {
    return ColorOfHue(Hue(c) + turns, Least(c), Greatest(c));
  });
}

Pixels BleachDark(const Pixels& image, double point, double factor) {
  return MapColors(image, [=](int, const Rgb& c) {
    const double lightness = (Least(c) + Greatest(c)) / 2;
    if (lightness >= 255 * point) return c;
    return WithLightness(c, Saturate(lightness * factor));
  });
}

namespace {

using Histogram = std::array<int64_t, 256>;
using Table = std::array<double, 256>;

// `image` with function(c, value) in place of each value of channel c.
template <typename Function>
Pixels MapChannels(const Pixels& image, Function function) {
  Pixels result = image;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const int c = static_cast<int>(i % image.channels);
    result.values[i] = function(c, image.values[i]);
  }
  return result;
}

Table StretchTable(const Histogram& counts) {
  Table table;
  int low = 0;
  int high = 255;
  while (low < 255 && counts[low] == 0) ++low;
  while (high > 0 && counts[high] == 0) --high;
  for (int v = 0; v < 256; ++v) {
    table[v] = high <= low ? v : Saturate(255.0 * (v - low) / (high - low));
  }
  return table;
}

Table FlatTable(const Histogram& counts) {
  Table table;
  for (int v = 0; v < 256; ++v) table[v] = v;
  int highest = 255;
  while (highest > 0 && counts[highest] == 0) --highest;
  int64_t pixels = 0;
  for (int64_t count : counts) pixels += count;
  const int64_t step = (pixels - counts[highest]) / 255;
  if (step == 0) return table;
  int64_t below = step / 2;
  for (int v = 0; v < 256; ++v) {
    table[v] = std::min<int64_t>(below / step, 255);
    below += counts[v];
  }
  return table;
}

// Maps each channel by the table that make(histogram) returns for it.
template <typename Make>
Pixels MapByHistogram(const Pixels& image, Make make) {
  std::vector<Histogram> counts(image.channels, Histogram{});
  for (size_t i = 0; i < image.values.size(); ++i) {
    ++counts[i % image.channels][static_cast<int>(AsByte(image.values[i]))];
  }
  std::vector<Table> tables;
  for (const Histogram& channel : counts) tables.push_back(make(channel));
  return MapChannels(image, [&](int c, double v) {
    return tables[c][static_cast<int>(AsByte(v))];
  });
}

}  // namespace

Pixels Invert(const Pixels& image) {
  return MapValues(image, [](double v) { return 255 - v; });
}

Pixels Posterize(const Pixels& image, int bits) {
  const double step = std::ldexp(1.0, 8 - bits);
  return MapValues(image,
                   [=](double v) { return step * std::floor(v / step); });
}

Pixels Solarize(const Pixels& image, double threshold) {
  return MapValues(image,
                   [=](double v) { return v >= threshold ? 255 - v : v; });
}

Pixels Gamma(const Pixels& image, double gamma) {
  return MapValues(image,
                   [=](double v) { return 255 * std::pow(v / 255, gamma); });
}

Pixels Multiply(const Pixels& image, double factor) {
  return MapValues(image, [=](double v) { return Saturate(v * factor); });
}

Pixels MultiplyChannels(const Pixels& image,
                        const std::vector<double>& factors) {
  return MapChannels(image, [&](int c, double v) {
    return Saturate(v * factors[c % factors.size()]);
  });
}

Pixels ShiftChannels(const Pixels& image, const std::vector<double>& shifts) {
  return MapChannels(image, [&](int c, double v) {
    return Saturate(v + shifts[c % shifts.size()]);
  });
}

Pixels StretchContrast(const Pixels& image) {
  return MapByHistogram(image, StretchTable);
}

Pixels EqualizeHistogram(const Pixels& image) {
  return MapByHistogram(image, FlatTable);
}

namespace {

// The white of D65.
constexpr double kWhiteX = 0.950456;
constexpr double kWhiteZ = 1.088754;
// As defined by CIE: below (6/29)^3 the cube root becomes a straight line.
constexpr double kEdge = 216.0 / 24389;
constexpr double kSlope = 841.0 / 108;

double Linear(double value) {
  const double v = value / 255;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

double Companded(double linear) {
  const double v = linear <= 0.0031308
                       ? 12.92 * linear
                       : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return Saturate(255 * v);
}

double Root(double t) {
  return t > kEdge ? std::cbrt(t) : kSlope * t + 4.0 / 29;
}

double Cube(double root) {
  return root > 6.0 / 29 ? root * root * root : (root - 4.0 / 29) / kSlope;
}

}  // namespace

Pixels RgbToLab(const Pixels& image) {
  Pixels lab = image;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const double r = Linear(image.values[i]);
    const double g = Linear(image.values[i + 1]);
    const double b = Linear(image.values[i + 2]);
    const double x =
        Root((0.412453 * r + 0.357580 * g + 0.180423 * b) / kWhiteX);
    const double y = Root(0.212671 * r + 0.715160 * g + 0.072169 * b);
    const double z =
        Root((0.019334 * r + 0.119193 * g + 0.950227 * b) / kWhiteZ);
    lab.values[i] = 116 * y - 16;
    lab.values[i + 1] = 500 * (x - y);
    lab.values[i + 2] = 200 * (y - z);
  }
  return lab;
}

Pixels LabToRgb(const Pixels& image) {
  Pixels rgb = image;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const double root_y = (image.values[i] + 16) / 116;
    const double x = kWhiteX * Cube(root_y + image.values[i + 1] / 500);
    const double y = Cube(root_y);
    const double z = kWhiteZ * Cube(root_y - image.values[i + 2] / 200);
    rgb.values[i] = Companded(3.240479 * x - 1.537150 * y - 0.498535 * z);
    rgb.values[i + 1] = Companded(-0.969256 * x + 1.875991 * y + 0.041556 * z);
    rgb.values[i + 2] = Companded(0.055648 * x - 0.204043 * y + 1.057311 * z);
  }
  return rgb;
}

namespace {

// change(value, y, x) in place of each value, saturating.
template <typename Change>
Pixels MapPlaces(const Pixels& image, Change change) {
  Pixels result = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        result.at(y, x, c) = Saturate(change(image.at(y, x, c), y, x));
      }
    }
  }
  return result;
}

// From 0 at the first of `size` places to 1 at the last.
double Ramp(int at, int size) {
  return size == 1 ? 0 : static_cast<double>(at) / (size - 1);
}

}  // namespace

Pixels LightFromSide(const Pixels& image, double gain, Side side) {
  return MapPlaces(image, [&](double value, int y, int x) {
    double ramp = side == Side::kTop || side == Side::kBottom
                      ? Ramp(y, image.height)
                      : Ramp(x, image.width);
    if (side == Side::kTop || side == Side::kLeft) ramp = 1 - ramp;
    return value + 255 * gain * ramp;
  });
}

Pixels LightFromCorner(const Pixels& image, double gain, bool bottom,
                       bool right) {
  const int corner_y = bottom ? image.height - 1 : 0;
  const int corner_x = right ? image.width - 1 : 0;
  // A single pixel is its own corner.
  const double diagonal =
      std::max(1.0, std::hypot(image.height - 1, image.width - 1));
  return MapPlaces(image, [=](double value, int y, int x) {
    const double distance = std::hypot(y - corner_y, x - corner_x) / diagonal;
    return value * (1 + gain * (1 - distance));
  });
}

Pixels LightFromPoint(const Pixels& image, double gain, double x, double y,
                      double sigma) {
  const double center_x = x * image.width;
  const double center_y = y * image.height;
  const double spread = sigma * std::max(image.height, image.width);
  return MapPlaces(image, [=](double value, int row, int column) {
    const double d = std::hypot(column - center_x, row - center_y) / spread;
    return value * (1 + gain * std::exp(-d * d / 2));
  });
}

}  // namespace feedrate
