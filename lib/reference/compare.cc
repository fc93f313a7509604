#include "lib/reference/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "lib/base/status_macros.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/distribution.h"
#include "lib/reference/moved.h"
#include "lib/reference/pixels.h"
#include "lib/reference/reference.h"
#include "lib/reference/similarity.h"

namespace feedrate {
namespace {

// Beyond this a float is not the same value in another order of operations.
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

// What keeps the output from being equivalent, or nothing.
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

Comparison CompareWithOne(const Reference& reference, const Pixels& expected,
                          const LibraryOutput& output) {
  Comparison comparison;
  comparison.reference = ReferenceText(reference);
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
  Comparison best = CompareWithOne(reference, allowed.front(), output);
  for (size_t i = 1; i < allowed.size() && best.label != kExact; ++i) {
    const Comparison other = CompareWithOne(reference, allowed[i], output);
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
  ASSIGN_OR_RETURN(Comparison comparison,
                   reference.kind() == DISTRIBUTION
                       ? CompareDraw(reference, input, output)
                       : CompareWithAll(reference, input, output));
  comparison.unchanged = SameImage(input, output.pixels);
  if (comparison.unchanged && comparison.label == kDifferent) {
    comparison.label = kNoop;
    comparison.reference =
        absl::StrCat(ReferenceText(reference), ": the output is the input");
  }
  return comparison;
}

Comparison Unchecked(const std::string& reason, const Pixels& input,
                     const LibraryOutput& output) {
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

}  // namespace feedrate
