// Upper limits of this machine, to compare a loader's results with. Measured in
// the same run, on the same cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ops/params.h"

namespace feedrate {

struct LimitOptions {
  int threads = 0;  // 0: all usable processors.
  // Time to spend per decoder or copy. Each rate is the best of three rounds of
  // a third of this time, so that it shows the machine undisturbed.
  double seconds = 0.6;
  // Side of the crop, and its position: random by the seed, or centered.
  int crop = 224;
  bool centered = false;
  // Replaces the crop: windows of a random-resized-crop.
  std::optional<WindowShape> resized;
  uint64_t seed = 1;
};

// JPEGs per second when the part that a crop needs is decoded and nothing else
// is done: no reading (the files are in memory), no normalizing. The faster of
// our own decoder and libjpeg-turbo, so that no loader that decodes the same
// files on as many threads can exceed it.
// Uses at most 256 of the files, evenly spaced. Skips files that are damaged or
// not JPEG; NotFound if none is left.
absl::StatusOr<double> DecodeLimit(const std::vector<std::string>& paths,
                                   const LimitOptions& options);

// Items per second when `item_bytes` bytes per item are copied into a batch of
// `batch_size` items. 0 if a batch has no bytes.
double BatchCopyLimit(int64_t item_bytes, int batch_size,
                      const LimitOptions& options);

}  // namespace feedrate
