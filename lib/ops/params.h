// A transform and its parameters, as configs/transforms/ writes them, and
// random draws.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/xoshiro.h"

namespace feedrate {

// What configs/transforms/ says about a transform for one library.
struct TransformSpec {
  // Its name, for messages.
  std::string transform;
  // The functions of the library to call.
  std::string native_op;
  std::vector<std::string> params;
  // How these functions are called, such as per group of channels.
  std::string wrap;
};

// A number that is drawn uniformly from low to high, or fixed.
struct Range {
  double low = 0;
  double high = 0;
  bool fixed() const { return low == high; }
};

// A list of `NAME=VALUE` that is read name by name. The first error is kept and
// later reads return zeros, so that a reader can read everything in sequence
// and check once, at the end:
//
//   Params params(spec.params);
//   const int bits = params.Integer("bits");
//   RETURN_IF_ERROR(params.Finish());
//
// Values: `3`, `-0.5`, `True`, `None`, `INTER_LINEAR`, `"text"`, `(1,2)`,
// `U(a,b)` for a draw from a to b, `uniform(a,b)` for an integer from a to b,
// `uniform{3,5,7}` for one of these.
class Params {
 public:
  explicit Params(const std::vector<std::string>& params);

  // Whether `name` is present with a value other than None. A None counts as
  // read.
  bool Has(absl::string_view name);

  double Number(absl::string_view name);
  int Integer(absl::string_view name);
  bool Boolean(absl::string_view name);
  // The value as written, without quotes.
  std::string Text(absl::string_view name);
  // Whether the value is in parentheses. False when it is missing.
  bool IsTuple(absl::string_view name);
  // `(a,b,...)` of exactly `size` numbers. 0 allows any number of them.
  std::vector<double> Tuple(absl::string_view name, size_t size = 0);
  // `U(a,b)`, or a number.
  Range Draw(absl::string_view name);
  // `uniform(a,b)`, or an integer.
  Range DrawInteger(absl::string_view name);
  // `uniform{a,b,...}`, or a number: at least one.
  std::vector<double> Choices(absl::string_view name);
  // The number that `words` gives to the value. The error lists the words.
  int Word(absl::string_view name,
           const std::vector<std::pair<absl::string_view, int>>& words);

  // For optional parameters. The fallback must be the value that leaves the
  // image unchanged: numbers that matter belong in configs/transforms/.
  double NumberOr(absl::string_view name, double fallback);
  Range DrawOr(absl::string_view name, double fallback);

  // Records `problem` as the error of `name`, unless there was an error before.
  void Fail(absl::string_view name, absl::string_view problem);

  // The first error, or a parameter that nobody has read.
  absl::Status Finish() const;

 private:
  struct Entry {
    std::string name;
    std::string value;
    bool used = false;
  };

  Entry* Find(absl::string_view name);
  // Marks it as used. When it is missing, records an error and returns the
  // empty value.
  absl::string_view Take(absl::string_view name);
  std::vector<double> Numbers(absl::string_view name, absl::string_view list);

  std::vector<Entry> entries_;
  absl::Status status_;
};

// Random draws inside timed calls, cheap compared with the work that they
// decide.
class Random : public SplitMix64 {
 public:
  explicit Random(uint64_t seed = 0) : SplitMix64(seed) {}

  // From 0 to 1, excluding 1.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  double Uniform(double low, double high) {
    return low + (high - low) * Unit();
  }
  // A fixed range needs no draw.
  double Uniform(const Range& range) {
    return range.fixed() ? range.low : Uniform(range.low, range.high);
  }

  // An integer from 0 to n - 1. REQUIRES: 0 < n < 2^31; the bias of the
  // multiplication is then below 2^-33.
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(((Next() >> 32) * static_cast<uint64_t>(n)) >>
                                32);
  }
  // An integer of the range, both ends included.
  int64_t Integer(const Range& range) {
    const auto low = static_cast<int64_t>(range.low);
    return low + Below(static_cast<int64_t>(range.high) - low + 1);
  }

  bool Coin() { return (Next() >> 63) != 0; }

  // A draw from the standard normal distribution.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    return radius * std::cos(6.283185307179586 * Unit());
  }

  // Shuffles `values`; every order is equally likely.
  template <typename T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i) {
      std::swap((*values)[i - 1], (*values)[Below(i)]);
    }
  }
};

// The windows of a random-resized-crop, as torchvision draws them.

struct WindowShape {
  Range area = {0.08, 1};            // Relative to the image's.
  Range ratio = {3.0 / 4, 4.0 / 3};  // Width to height.
  int tries = 10;
};

// Reads the parameters of configs/transforms/: `scale=(0.08,1.0)` and
// `ratio=(0.75,1.33)`, or for DALI `random_area` and `random_aspect_ratio`.
// Absent when there is no scale, or none that is understood.
std::optional<WindowShape> WindowShapeOf(
    const std::vector<std::string>& params);

struct DrawnWindow {
  int y = 0;
  int x = 0;
  int height = 0;
  int width = 0;
};

// Draws a window within an image of that size: the area uniformly, the ratio
// uniformly in the logarithm. After `tries` windows that do not fit, returns
// the largest centered one whose ratio is in range.
DrawnWindow DrawResizedWindow(const WindowShape& shape, int height, int width,
                              Random* random);

}  // namespace feedrate
