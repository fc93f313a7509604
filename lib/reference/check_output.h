// A library's output held against what the catalogue says of its transform.
#ifndef FEEDRATE_LIB_REFERENCE_CHECK_OUTPUT_H_
#define FEEDRATE_LIB_REFERENCE_CHECK_OUTPUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// An output in somebody else's memory, as workers hand it over.
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

// How `output` compares for `input` under the implementation's profile:
// `unchecked` where the catalogue says that the implementation draws anew for
// each call, or has no reference for the transform. InvalidArgument names the
// transform.
absl::StatusOr<Comparison> CheckOutput(const Transform& transform,
                                       const Implementation& implementation,
                                       const Pixels& input,
                                       const LibraryOutput& output);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_CHECK_OUTPUT_H_
