#include "lib/reference/check_output.h"

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
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

}  // namespace feedrate
