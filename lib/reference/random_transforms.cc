#include "lib/reference/random_transforms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/reference/reference.h"

namespace feedrate {
namespace {

DrawCheck Moved(std::string problem) {
  return {problem.empty(), problem.empty(), problem};
}

DrawCheck Likely(std::string problem) {
  return {problem.empty(), false, problem};
}

using RandomOp = DrawCheck (*)(Arguments&, const Pixels&, const Pixels&);

DrawCheck WindowOp(Arguments& args, const Pixels& input, const Pixels& output) {
  const int height = args.Integer("height");
  const int width = args.Integer("width");
  return Moved(NotAWindow(input, output, height, width));
}

DrawCheck ChannelsOp(Arguments&, const Pixels& input, const Pixels& output) {
  return Moved(NotPermutedChannels(input, output));
}

DrawCheck RectangleOp(Arguments& args, const Pixels& input,
                      const Pixels& output) {
  const std::vector<double> area = args.Numbers("area", 2);
  return Moved(NotOneRectangle(input, output, area[0], area[1]));
}

DrawCheck TilesOp(Arguments& args, const Pixels& input, const Pixels& output) {
  const int rows = args.Integer("rows");
  const int columns = args.Integer("columns");
  if (rows < 1 || columns < 1) {
    args.Complain("rows and columns must be positive");
    return {};
  }
  return Moved(NotShuffledTiles(input, output, rows, columns));
}

DrawCheck GaussianNoiseOp(Arguments& args, const Pixels& input,
                          const Pixels& output) {
  const double std = args.Number("std");
  if (!(std > 0)) {
    args.Complain("std is not positive");
    return {};
  }
  return Likely(NotGaussianNoise(input, output, std));
}

DrawCheck SaltAndPepperOp(Arguments& args, const Pixels& input,
                          const Pixels& output) {
  const std::vector<double> amount = args.Numbers("amount", 2);
  const std::vector<double> salt = args.Numbers("salt", 2);
  return Likely(NotSaltAndPepper(input, output,
                                 {amount[0], amount[1], salt[0], salt[1]}));
}

const std::map<std::string, RandomOp>& RandomOps() {
  static const auto& ops = *new std::map<std::string, RandomOp>{
      {"erase_some_rectangle", RectangleOp},
      {"gaussian_noise", GaussianNoiseOp},
      {"permute_channels", ChannelsOp},
      {"salt_and_pepper", SaltAndPepperOp},
      {"shuffle_tiles", TilesOp},
      {"some_window", WindowOp},
  };
  return ops;
}

}  // namespace

absl::StatusOr<DrawCheck> CheckDraw(const Reference& reference,
                                    const Pixels& input, const Pixels& output) {
  const auto op = RandomOps().find(reference.op());
  if (op == RandomOps().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no reference \"", reference.op(), "\" of kind DISTRIBUTION"));
  }
  Arguments arguments(reference.op(),
                      {reference.params().begin(), reference.params().end()});
  const DrawCheck check = op->second(arguments, input, output);
  RETURN_IF_ERROR(arguments.Finish());
  return check;
}

std::vector<std::string> DistributionOps() {
  std::vector<std::string> names;
  for (const auto& op : RandomOps()) names.push_back(op.first);
  return names;
}

namespace {

// Allowed distance of the middle of a tile from its position among equal tiles.
constexpr int kTileSlack = 4;
// Side of the patch that is searched for: large enough not to be found
// elsewhere by chance, unless it is flat.
constexpr int kPatch = 8;

// Values of `output` at (y, x) and of `input` at (v, u), or zero outside.
bool SamePixel(const Pixels& output, int y, int x, const Pixels& input, int v,
               int u) {
  const bool outside = v < 0 || v >= input.height || u < 0 || u >= input.width;
  for (int c = 0; c < output.channels; ++c) {
    const double value = outside ? 0 : input.at(v, u, c);
    if (!SameValue(output.at(y, x, c), value)) return false;
  }
  return true;
}

// Whether a part of `output` at (y, x) is the part of `input` at (v, u).
bool SamePart(const Pixels& output, int y, int x, const Pixels& input, int v,
              int u, int height, int width) {
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      if (!SamePixel(output, y + i, x + j, input, v + i, u + j)) return false;
    }
  }
  return true;
}

bool SameChannel(const Pixels& output, int c, const Pixels& input, int d) {
  for (size_t i = 0; i < output.values.size(); i += output.channels) {
    if (!SameValue(output.values[i + c], input.values[i + d])) return false;
  }
  return true;
}

// Upper left corner of the patch in the middle of tile `index` of `count`.
int PatchStart(int index, int count, int size) {
  return (2 * index + 1) * size / (2 * count) - kPatch / 2;
}

}  // namespace

bool SameValue(double a, double b) { return std::abs(a - b) <= 1e-3; }

std::string NotAWindow(const Pixels& input, const Pixels& output, int height,
                       int width) {
  if (output.height != height || output.width != width ||
      output.channels != input.channels) {
    return absl::StrCat("the size is ", output.width, "x", output.height);
  }
  const int low_y = std::min(0, input.height - height);
  const int low_x = std::min(0, input.width - width);
  for (int y = low_y; y <= std::abs(input.height - height); ++y) {
    for (int x = low_x; x <= std::abs(input.width - width); ++x) {
      if (SamePart(output, 0, 0, input, y, x, height, width)) return "";
    }
  }
  return "it is not a window of the input";
}

std::string NotPermutedChannels(const Pixels& input, const Pixels& output) {
  if (!input.SameShape(output)) return "the size is another";
  std::vector<bool> used(input.channels, false);
  for (int c = 0; c < output.channels; ++c) {
    int d = 0;
    while (d < input.channels && (used[d] || !SameChannel(output, c, input, d)))
      ++d;
    if (d == input.channels) {
      return absl::StrCat("channel ", c, " is none of the input");
    }
    used[d] = true;
  }
  return "";
}

std::string NotOneRectangle(const Pixels& input, const Pixels& output,
                            double low, double high) {
  if (!input.SameShape(output)) return "the size is another";
  int top = input.height;
  int left = input.width;
  int bottom = -1;
  int right = -1;
  for (int y = 0; y < input.height; ++y) {
    for (int x = 0; x < input.width; ++x) {
      if (SamePixel(output, y, x, input, y, x)) continue;
      top = std::min(top, y);
      bottom = std::max(bottom, y);
      left = std::min(left, x);
      right = std::max(right, x);
    }
  }
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      for (int c = 0; c < output.channels; ++c) {
        if (!SameValue(output.at(y, x, c), 0)) {
          return "more than one rectangle has changed, or not to zeros";
        }
      }
    }
  }
  const double rows = std::max(0, bottom - top + 1);
  const double columns = std::max(0, right - left + 1);
  const double pixels = static_cast<double>(input.height) * input.width;
  if ((rows + 1) * (columns + 1) < low * pixels ||
      std::max(0., rows - 1) * std::max(0., columns - 1) > high * pixels) {
    return absl::StrCat("a rectangle of ", columns, "x", rows,
                        " is beyond the area allowed");
  }
  return "";
}

std::string NotShuffledTiles(const Pixels& input, const Pixels& output,
                             int rows, int columns) {
  if (!input.SameShape(output)) return "the size is another";
  if (input.height / rows < kPatch + 2 * kTileSlack ||
      input.width / columns < kPatch + 2 * kTileSlack) {
    return "the tiles are too small to tell";
  }
  std::vector<bool> used(rows * columns, false);
  for (int i = 0; i < rows * columns; ++i) {
    const int y = PatchStart(i / columns, rows, input.height);
    const int x = PatchStart(i % columns, columns, input.width);
    bool found = false;
    for (int j = 0; j < rows * columns && !found; ++j) {
      if (used[j]) continue;
      const int v = PatchStart(j / columns, rows, input.height);
      const int u = PatchStart(j % columns, columns, input.width);
      for (int dv = -kTileSlack; dv <= kTileSlack && !found; ++dv) {
        for (int du = -kTileSlack; du <= kTileSlack && !found; ++du) {
          found = SamePart(output, y, x, input, v + dv, u + du, kPatch, kPatch);
        }
      }
      used[j] = found;
    }
    if (!found) return absl::StrCat("tile ", i, " is none of the input");
  }
  return "";
}

namespace {

// Allowed error of mean and variance beyond chance: rounding to bytes moves a
// mean by up to half a unit.
constexpr double kMeanSlack = 0.6;
constexpr double kVarianceSlack = 0.03;
// Allowed deviation by chance, in standard errors.
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
