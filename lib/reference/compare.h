// Compares outputs with the reference: do two libraries do the same work?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// Labels of a comparison.
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
  // What it was compared with, and what differs, or why it was not compared.
  std::string reference;
  // The output is the input.
  bool unchanged = false;
};

// The output of a library.
struct LibraryOutput {
  // 0..255, whatever the library's own range.
  Pixels pixels;
  // Whether the library returned bytes. References are rounded for them.
  bool bytes = true;
};

// Compares `output` with `reference` for `input`:
// - `exact`: the same bytes, or the same floats up to their rounding
// - `equivalent`: the same shape and within the limits of `reference`; where
//   PSNR decides, no sub-pixel shift betters it
// - `noop`: the input, where the reference is not
// - `different`: none of these, or a value is not finite; `reference` says why
// - `unchecked`: the reference itself says so
// InvalidArgument when the reference is wrong.
absl::StatusOr<Comparison> Compare(const Reference& reference,
                                   const Pixels& input,
                                   const LibraryOutput& output);

// Compares `output` with `expected`, an output that `name` made for `input`:
// `exact`, `equivalent` (a PSNR of 40 dB or more, and no sub-pixel shift
// betters it), `noop` or `different`.
Comparison CompareWithOutput(const std::string& name, const Pixels& input,
                             const LibraryOutput& expected,
                             const LibraryOutput& output);

// A result that says that nothing was compared, and why; `different` if a value
// of `output` is not finite.
Comparison Unchecked(const std::string& reason, const Pixels& input,
                     const LibraryOutput& output);

// One result for several images: the worst label with its reason, the largest
// difference, the smallest PSNR and SSIM. `unchecked` becomes `noop` when no
// image changed at all. REQUIRES: not empty.
Comparison WorstOf(const std::vector<Comparison>& comparisons);

// The limits that apply, including defaults.
double MaxAbsDiffLimit(const Reference& reference);
double PsnrLimit(const Reference& reference);

// Similarity of two images. REQUIRES for all: the same shape, not empty.

// The largest difference of one value.
double MaxAbsDiff(const Pixels& a, const Pixels& b);

// 10 log10(255^2 / mean square difference); infinite when equal.
double Psnr(const Pixels& a, const Pixels& b);

// Mean structural similarity (Wang et al., 2004: K1 = 0.01, K2 = 0.03) of 8x8
// windows, four pixels apart, over all channels. A side shorter than 8 is one
// window. 1 when equal.
double Ssim(const Pixels& a, const Pixels& b);

// Whether `output` fits `reference` better in place than half a pixel away in
// any of the eight directions. A shift by half a pixel, the error of a library
// that confuses edges and centers, can leave a good PSNR on a smooth image.
// True for images too small to tell.
bool BestUnshifted(const Pixels& output, const Pixels& reference);

// A view of an output, as workers return it.
struct OutputView {
  const void* data = nullptr;
  int64_t bytes = 0;
  // `uint8`, or `float32` in 0..1.
  absl::string_view dtype;
  // `HWC` or `CHW`.
  absl::string_view layout;
  int height = 0;
  int width = 0;
  int channels = 0;
};

// The output as doubles 0..255. InvalidArgument when sizes, type or layout do
// not fit together.
absl::StatusOr<LibraryOutput> ReadOutput(const OutputView& view);

// Compares `output` with what the catalogue says about the transform, under the
// implementation's profile: `unchecked` where the catalogue says that the
// implementation draws anew for each call, or has no reference for the
// transform. InvalidArgument names the transform.
absl::StatusOr<Comparison> CheckOutput(const Transform& transform,
                                       const Implementation& implementation,
                                       const Pixels& input,
                                       const LibraryOutput& output);

// Steps of a loader's recipe around the transform.

// `image` with its channels repeated up to `channels`.
Pixels RepeatChannels(const Pixels& image, int channels);

// The pixels that a normalized tensor was made from: `output` as ReadOutput
// returned it, times std plus mean, both repeated over the channels. A recipe
// that normalizes bytes gives integers up to rounding; such an output counts as
// bytes. REQUIRES: mean and std are not empty and of equal length.
LibraryOutput UndoNormalization(const LibraryOutput& output,
                                const std::vector<double>& mean,
                                const std::vector<double>& std);

}  // namespace feedrate
