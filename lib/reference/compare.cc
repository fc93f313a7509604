#include "lib/reference/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/reference/geometry.h"
#include "lib/reference/random_transforms.h"
#include "lib/reference/reference.h"

namespace feedrate {
namespace {

// Larger differences cannot come from another order of floating-point
// operations.
constexpr double kFloatRounding = 0.002;

bool DecidedByValues(const Reference& reference) {
  return reference.kind() == POINT || reference.kind() == PERMUTATION;
}

bool SameImage(const Pixels& a, const Pixels& b) {
  return a.SameShape(b) && std::equal(a.values.begin(), a.values.end(),
                                      b.values.begin(), SameValue);
}

std::string SizeText(const Pixels& image) {
  return absl::StrFormat("%dx%dx%d", image.width, image.height, image.channels);
}

// Why the output is not equivalent, or an empty string.
std::string Difference(const Reference& reference, const Pixels& expected,
                       const Pixels& output, const Comparison& comparison) {
  if (*comparison.max_abs_diff > MaxAbsDiffLimit(reference)) {
    return absl::StrFormat("off by %.2f/255, limit %g",
                           *comparison.max_abs_diff,
                           MaxAbsDiffLimit(reference));
  }
  if (comparison.psnr_db.value_or(1e9) < PsnrLimit(reference)) {
    return absl::StrFormat("PSNR %.1f dB, limit %g", *comparison.psnr_db,
                           PsnrLimit(reference));
  }
  if (!DecidedByValues(reference) && !BestUnshifted(output, expected)) {
    return "fits better half a pixel away";
  }
  return "";
}

// A `different` result for an output with values that are not finite: they
// differ from nothing in a comparison of numbers.
absl::optional<Comparison> NotFinite(const std::string& name,
                                     const LibraryOutput& output) {
  const std::vector<double>& values = output.pixels.values;
  const auto wrong = std::count_if(values.begin(), values.end(),
                                   [](double v) { return !std::isfinite(v); });
  if (wrong == 0) return absl::nullopt;
  Comparison comparison;
  comparison.label = kDifferent;
  comparison.reference =
      absl::StrCat(name, ": ", wrong, " of ", values.size(),
                   " values of the output are NaN or infinite");
  return comparison;
}

Comparison CompareWithOne(const Reference& reference, const std::string& name,
                          const Pixels& expected, const LibraryOutput& output) {
  Comparison comparison;
  comparison.reference = name;
  if (!expected.SameShape(output.pixels)) {
    comparison.label = kDifferent;
    absl::StrAppend(&comparison.reference, ": ", SizeText(output.pixels),
                    " instead of ", SizeText(expected));
    return comparison;
  }
  const Pixels held = output.bytes ? MapValues(expected, AsByte) : expected;
  comparison.max_abs_diff = MaxAbsDiff(output.pixels, held);
  comparison.ssim = Ssim(output.pixels, held);
  const double psnr = Psnr(output.pixels, held);
  if (std::isfinite(psnr)) comparison.psnr_db = psnr;
  const bool exact =
      *comparison.max_abs_diff <= (output.bytes ? 0 : kFloatRounding);
  if (exact) {
    comparison.label = kExact;
    return comparison;
  }
  const std::string difference =
      Difference(reference, held, output.pixels, comparison);
  comparison.label = difference.empty() ? kEquivalent : kDifferent;
  if (!difference.empty()) {
    absl::StrAppend(&comparison.reference, ": ", difference);
  }
  return comparison;
}

// A different output that is the input is a `noop`.
void NoteUnchanged(const std::string& name, const Pixels& input,
                   const LibraryOutput& output, Comparison* comparison) {
  comparison->unchanged = SameImage(input, output.pixels);
  if (!comparison->unchanged || comparison->label != kDifferent) return;
  comparison->label = kNoop;
  comparison->reference = absl::StrCat(name, ": the output is the input");
}

int Severity(const std::string& label) {
  constexpr std::array<const char*, 5> order = {kExact, kEquivalent, kUnchecked,
                                                kNoop, kDifferent};
  return static_cast<int>(std::find(order.begin(), order.end(), label) -
                          order.begin());
}

// Whether `a` is nearer to the reference than `b`.
bool Better(const Comparison& a, const Comparison& b) {
  if (a.label != b.label) return Severity(a.label) < Severity(b.label);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto psnr = [=](const Comparison& c) {
    return c.max_abs_diff.has_value() ? c.psnr_db.value_or(infinity)
                                      : -infinity;
  };
  return psnr(a) > psnr(b);
}

absl::StatusOr<Comparison> CompareDraw(const Reference& reference,
                                       const Pixels& input,
                                       const LibraryOutput& output) {
  ASSIGN_OR_RETURN(const DrawCheck check,
                   CheckDraw(reference, input, output.pixels));
  Comparison comparison;
  comparison.label = !check.possible ? kDifferent
                     : check.exact   ? kExact
                                     : kEquivalent;
  comparison.reference =
      absl::StrCat(ReferenceText(reference), " in distribution");
  if (!check.possible) {
    absl::StrAppend(&comparison.reference, ": ", check.problem);
  }
  return comparison;
}

absl::StatusOr<Comparison> CompareWithAll(const Reference& reference,
                                          const Pixels& input,
                                          const LibraryOutput& output) {
  ASSIGN_OR_RETURN(const std::vector<Pixels> allowed,
                   ComputeReference(reference, input));
  const std::string name = ReferenceText(reference);
  Comparison best = CompareWithOne(reference, name, allowed.front(), output);
  for (size_t i = 1; i < allowed.size() && best.label != kExact; ++i) {
    const Comparison other =
        CompareWithOne(reference, name, allowed[i], output);
    if (Better(other, best)) best = other;
  }
  return best;
}

template <typename Value, typename Choose>
absl::optional<Value> Combine(const absl::optional<Value>& a,
                              const absl::optional<Value>& b, Choose choose) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return choose(*a, *b);
}

}  // namespace

absl::StatusOr<Comparison> Compare(const Reference& reference,
                                   const Pixels& input,
                                   const LibraryOutput& output) {
  if (!reference.unchecked().empty()) {
    return Unchecked(reference.unchecked(), input, output);
  }
  if (auto wrong = NotFinite(ReferenceText(reference), output)) return *wrong;
  ASSIGN_OR_RETURN(Comparison comparison,
                   reference.kind() == DISTRIBUTION
                       ? CompareDraw(reference, input, output)
                       : CompareWithAll(reference, input, output));
  NoteUnchanged(ReferenceText(reference), input, output, &comparison);
  return comparison;
}

Comparison CompareWithOutput(const std::string& name, const Pixels& input,
                             const LibraryOutput& expected,
                             const LibraryOutput& output) {
  if (auto wrong = NotFinite(name, output)) return *wrong;
  if (auto wrong = NotFinite(name, expected)) {
    return Unchecked(wrong->reference, input, output);
  }
  Comparison comparison =
      CompareWithOne(Reference(), name, expected.pixels, output);
  NoteUnchanged(name, input, output, &comparison);
  return comparison;
}

Comparison Unchecked(const std::string& reason, const Pixels& input,
                     const LibraryOutput& output) {
  if (auto wrong = NotFinite(reason, output)) return *wrong;
  Comparison comparison;
  comparison.label = kUnchecked;
  comparison.reference = reason;
  comparison.unchanged = SameImage(input, output.pixels);
  return comparison;
}

Comparison WorstOf(const std::vector<Comparison>& comparisons) {
  Comparison worst = comparisons.front();
  bool unchanged = true;
  absl::optional<double> max_abs_diff;
  absl::optional<double> psnr_db;
  absl::optional<double> ssim;
  const auto max = [](double a, double b) { return std::max(a, b); };
  const auto min = [](double a, double b) { return std::min(a, b); };
  for (const Comparison& one : comparisons) {
    if (Better(worst, one)) worst = one;
    unchanged = unchanged && one.unchanged;
    max_abs_diff = Combine(max_abs_diff, one.max_abs_diff, max);
    psnr_db = Combine(psnr_db, one.psnr_db, min);
    ssim = Combine(ssim, one.ssim, min);
  }
  worst.max_abs_diff = max_abs_diff;
  worst.psnr_db = psnr_db;
  worst.ssim = ssim;
  worst.unchanged = unchanged;
  if (unchanged && worst.label == kUnchecked) {
    worst.label = kNoop;
    absl::StrAppend(&worst.reference, ": every output is its input");
  }
  return worst;
}

double MaxAbsDiffLimit(const Reference& reference) {
  if (reference.has_max_abs_diff()) return reference.max_abs_diff();
  return DecidedByValues(reference) ? 2
                                    : std::numeric_limits<double>::infinity();
}

double PsnrLimit(const Reference& reference) {
  if (reference.has_min_psnr_db()) return reference.min_psnr_db();
  return DecidedByValues(reference) || reference.kind() == DISTRIBUTION ? 0
                                                                        : 40;
}

namespace {

constexpr int kWindow = 8;
constexpr int kStride = 4;
// Shifted comparisons exclude the outermost pixels, which a shift would invent.
constexpr int kMargin = 1;

double WindowSsim(const Pixels& a, const Pixels& b, int top, int left, int c) {
  const int bottom = std::min(top + kWindow, a.height);
  const int right = std::min(left + kWindow, a.width);
  const double count = static_cast<double>(bottom - top) * (right - left);
  double sum_a = 0;
  double sum_b = 0;
  double sum_aa = 0;
  double sum_bb = 0;
  double sum_ab = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const double p = a.at(y, x, c);
      const double q = b.at(y, x, c);
      sum_a += p;
      sum_b += q;
      sum_aa += p * p;
      sum_bb += q * q;
      sum_ab += p * q;
    }
  }
  const double mean_a = sum_a / count;
  const double mean_b = sum_b / count;
  const double var_a = sum_aa / count - mean_a * mean_a;
  const double var_b = sum_bb / count - mean_b * mean_b;
  const double covariance = sum_ab / count - mean_a * mean_b;
  const double c1 = (0.01 * 255) * (0.01 * 255);
  const double c2 = (0.03 * 255) * (0.03 * 255);
  return (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
         ((mean_a * mean_a + mean_b * mean_b + c1) * (var_a + var_b + c2));
}

double InnerSquareSum(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (int y = kMargin; y < a.height - kMargin; ++y) {
    for (int x = kMargin; x < a.width - kMargin; ++x) {
      for (int c = 0; c < a.channels; ++c) {
        const double difference = a.at(y, x, c) - b.at(y, x, c);
        sum += difference * difference;
      }
    }
  }
  return sum;
}

}  // namespace

double MaxAbsDiff(const Pixels& a, const Pixels& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

double Psnr(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double difference = a.values[i] - b.values[i];
    sum += difference * difference;
  }
  if (sum == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(255.0 * 255.0 * a.values.size() / sum);
}

double Ssim(const Pixels& a, const Pixels& b) {
  double sum = 0;
  int windows = 0;
  for (int c = 0; c < a.channels; ++c) {
    for (int y = 0; y == 0 || y + kWindow <= a.height; y += kStride) {
      for (int x = 0; x == 0 || x + kWindow <= a.width; x += kStride) {
        sum += WindowSsim(a, b, y, x, c);
        ++windows;
      }
    }
  }
  return sum / windows;
}

bool BestUnshifted(const Pixels& output, const Pixels& reference) {
  const double here = InnerSquareSum(output, reference);
  for (double dy : {-0.5, 0.0, 0.5}) {
    for (double dx : {-0.5, 0.0, 0.5}) {
      if (dx == 0 && dy == 0) continue;
      if (InnerSquareSum(output, Shifted(reference, {dx, dy})) < here) {
        return false;
      }
    }
  }
  return true;
}

namespace {

// memcpy: the view may lie anywhere in a file.
double FloatAt(const void* data, size_t index) {
  float value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(float),
              sizeof(float));
  return 255.0 * value;
}

double ByteAt(const void* data, size_t index) {
  return static_cast<const uint8_t*>(data)[index];
}

}  // namespace

absl::StatusOr<LibraryOutput> ReadOutput(const OutputView& view) {
  const bool bytes = view.dtype == "uint8";
  const bool planar = view.layout == "CHW";
  if (!bytes && view.dtype != "float32") {
    return absl::InvalidArgumentError(
        absl::StrCat("an output of type \"", view.dtype, "\""));
  }
  if (!planar && view.layout != "HWC") {
    return absl::InvalidArgumentError(
        absl::StrCat("an output of layout \"", view.layout, "\""));
  }
  if (view.height < 1 || view.width < 1 || view.channels < 1 ||
      view.bytes != int64_t{1} * view.height * view.width * view.channels *
                        (bytes ? 1 : 4)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an output of ", view.bytes, " bytes for ", view.width, "x",
        view.height, " pixels of ", view.channels, " channels"));
  }
  LibraryOutput output{Pixels(view.height, view.width, view.channels), bytes};
  const size_t area = static_cast<size_t>(view.height) * view.width;
  for (size_t i = 0; i < area; ++i) {
    for (int c = 0; c < view.channels; ++c) {
      const size_t at = planar ? c * area + i : i * view.channels + c;
      output.pixels.values[i * view.channels + c] =
          bytes ? ByteAt(view.data, at) : FloatAt(view.data, at);
    }
  }
  return output;
}

absl::StatusOr<Comparison> CheckOutput(const Transform& transform,
                                       const Implementation& implementation,
                                       const Pixels& input,
                                       const LibraryOutput& output) {
  if (!implementation.unchecked().empty()) {
    return Unchecked(implementation.unchecked(), input, output);
  }
  if (!transform.has_reference()) {
    return Unchecked("the catalogue has no reference", input, output);
  }
  absl::StatusOr<Comparison> comparison =
      Compare(transform.reference(), input, output);
  if (comparison.ok()) return comparison;
  return absl::Status(comparison.status().code(),
                      absl::StrCat("transform ", transform.name(), ": ",
                                   comparison.status().message()));
}

namespace {

// A float represents a normalized byte to about 1e-5 of a step; libraries that
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

LibraryOutput UndoNormalization(const LibraryOutput& output,
                                const std::vector<double>& mean,
                                const std::vector<double>& std) {
  LibraryOutput result = output;
  Pixels& pixels = result.pixels;
  for (size_t i = 0; i < pixels.values.size(); ++i) {
    const size_t c = i % pixels.channels % mean.size();
    // ReadOutput assumed 0..1 and scaled it to 0..255.
    pixels.values[i] = pixels.values[i] * std[c] + 255 * mean[c];
  }
  result.bytes = AreBytes(pixels);
  if (!result.bytes) return result;
  for (double& value : pixels.values) value = std::round(value);
  return result;
}

}  // namespace feedrate
