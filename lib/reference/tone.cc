#include "lib/reference/tone.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {
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

// Each channel mapped by the table that make(histogram) gives for it.
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

}  // namespace feedrate
