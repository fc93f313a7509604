#include "lib/reference/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/reference/moved.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// Mean and variance may be off by this much beside what chance explains:
// rounding to bytes moves a mean by up to half a unit.
constexpr double kMeanSlack = 0.6;
constexpr double kVarianceSlack = 0.03;
// Standard errors that chance is given.
constexpr double kErrors = 5;

double Density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
}

double Cumulative(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

bool AllAre(const Pixels& image, size_t first, double value) {
  for (int c = 0; c < image.channels; ++c) {
    if (!SameValue(image.values[first + c], value)) return false;
  }
  return true;
}

bool SamePixel(const Pixels& a, const Pixels& b, size_t first) {
  for (int c = 0; c < a.channels; ++c) {
    if (!SameValue(a.values[first + c], b.values[first + c])) return false;
  }
  return true;
}

// Whether `count` of `total` fits a probability from low to high.
bool Likely(double count, double total, double low, double high) {
  const double part = total == 0 ? 0 : count / total;
  const double error = kErrors * std::sqrt(std::max(part * (1 - part), 1e-9) /
                                           std::max(total, 1.0));
  return part >= low - error && part <= high + error;
}

}  // namespace

Moments SaturatedNoise(double value, double std) {
  const double low = (0 - value) / std;
  const double high = (255 - value) / std;
  const double inside = Cumulative(high) - Cumulative(low);
  const double above = 1 - Cumulative(high);
  // Integrals of z and z^2 times the density, from low to high.
  const double first = Density(low) - Density(high);
  const double second = inside + low * Density(low) - high * Density(high);
  const double mean = value * inside + std * first + 255 * above;
  const double square = value * value * inside + 2 * value * std * first +
                        std * std * second + 255.0 * 255.0 * above;
  return {mean, square - mean * mean};
}

std::string NotGaussianNoise(const Pixels& input, const Pixels& output,
                             double std) {
  if (!input.SameShape(output)) return "the size is another";
  std::array<Moments, 256> expected;
  for (int v = 0; v < 256; ++v) expected[v] = SaturatedNoise(v, std);
  double difference = 0;
  double square = 0;
  double variance = 0;
  for (size_t i = 0; i < input.values.size(); ++i) {
    const Moments& moments =
        expected[static_cast<int>(AsByte(input.values[i]))];
    const double off = output.values[i] - moments.mean;
    if (output.values[i] < -1e-3 || output.values[i] > 255.001) {
      return "it is not saturated";
    }
    difference += off;
    square += off * off;
    variance += moments.variance;
  }
  const double count = static_cast<double>(input.values.size());
  const double mean = difference / count;
  if (std::abs(mean) > kMeanSlack + kErrors * std::sqrt(variance) / count) {
    return absl::StrFormat("the mean is off by %.2f", mean);
  }
  const double ratio = square / variance;
  if (std::abs(ratio - 1) > kVarianceSlack + kErrors * std::sqrt(2 / count)) {
    return absl::StrFormat("the variance is %.2f times that expected", ratio);
  }
  return "";
}

std::string NotSaltAndPepper(const Pixels& input, const Pixels& output,
                             const SaltAndPepper& parts) {
  if (!input.SameShape(output)) return "the size is another";
  double salt = 0;
  double pepper = 0;
  for (size_t i = 0; i < input.values.size(); i += input.channels) {
    if (SamePixel(input, output, i)) continue;
    if (AllAre(output, i, 255)) {
      ++salt;
    } else if (AllAre(output, i, 0)) {
      ++pepper;
    } else {
      return "a pixel became neither white nor black";
    }
  }
  const double pixels = static_cast<double>(input.height) * input.width;
  // A pixel can be drawn twice, for salt and for pepper.
  if (!Likely(salt + pepper, pixels, 0.97 * parts.low_amount,
              parts.high_amount)) {
    return absl::StrFormat("%.4f of the pixels changed",
                           (salt + pepper) / pixels);
  }
  if (!Likely(salt, salt + pepper, parts.low_salt - 0.02,
              parts.high_salt + 0.02)) {
    return absl::StrFormat("%.4f of the changed pixels are white",
                           salt / (salt + pepper));
  }
  return "";
}

}  // namespace feedrate
