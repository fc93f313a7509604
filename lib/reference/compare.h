// Whether an output is the same work as the reference.
#ifndef FEEDRATE_LIB_REFERENCE_COMPARE_H_
#define FEEDRATE_LIB_REFERENCE_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// Labels of an equivalence.
inline constexpr char kExact[] = "exact";
inline constexpr char kEquivalent[] = "equivalent";
inline constexpr char kDifferent[] = "different";
inline constexpr char kNoop[] = "noop";
inline constexpr char kUnchecked[] = "unchecked";

// The fields of the record's `equivalence`.
struct Comparison {
  std::string label;
  // Largest difference of one value, in units of 1/255.
  absl::optional<double> max_abs_diff;
  // Absent when equal (infinite) or not comparable.
  absl::optional<double> psnr_db;
  absl::optional<double> ssim;
  // What it was held against, and what was wrong, or why it was not.
  std::string reference;
  // The output is the input.
  bool unchanged = false;
};

// What a library put out.
struct LibraryOutput {
  // 0..255, whatever the library's own range.
  Pixels pixels;
  // Whether the library put out bytes. References are rounded for them.
  bool bytes = true;
};

// Holds `output` against `reference` for `input`:
// - `exact`: the same bytes, or the same floats up to their rounding
// - `equivalent`: the same shape and within the limits of `reference`; where
//   PSNR decides, no sub-pixel shift betters it
// - `noop`: the input, where the reference is not
// - `different`: none of these; `reference` says why
// - `unchecked`: the reference itself says so
// InvalidArgument when the reference is wrong.
absl::StatusOr<Comparison> Compare(const Reference& reference,
                                   const Pixels& input,
                                   const LibraryOutput& output);

// That nothing was compared, and why.
Comparison Unchecked(const std::string& reason, const Pixels& input,
                     const LibraryOutput& output);

// One for several images: the worst label with its reason, the largest
// difference, the least PSNR and SSIM. `unchecked` becomes `noop` when no image
// changed at all. REQUIRES: not empty.
Comparison WorstOf(const std::vector<Comparison>& comparisons);

// The limits that hold, defaults filled in.
double MaxAbsDiffLimit(const Reference& reference);
double PsnrLimit(const Reference& reference);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_COMPARE_H_
