// What this machine could do at most, for a loader's results to be held
// against: measured in the same run, on the same cores.
#ifndef FEEDRATE_LIB_LOADER_LIMITS_H_
#define FEEDRATE_LIB_LOADER_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

struct LimitOptions {
  int threads = 0;  // 0: as many as there are usable processors.
  // Time is measured in three rounds of a third of this, of which the best
  // counts: a limit is what the machine can do when nothing disturbs it.
  double seconds = 0.6;
  // Side of the crop, and where it lies: at random by the seed, or in the
  // centre.
  int crop = 224;
  bool centred = false;
  // In the place of the crop: windows as a random-resized-crop draws them.
  std::optional<WindowShape> resized;
  uint64_t seed = 1;
};

// JPEGs a second of which libjpeg-turbo decodes the part that a crop needs, and
// nothing else is done: no reading (the files are in memory), no normalising.
// At most 256 of the files are taken, evenly. Files that are no JPEG or are
// damaged are passed over; NotFound when none is left.
absl::StatusOr<double> DecodeLimit(const std::vector<std::string>& paths,
                                   const LimitOptions& options);

// Items a second whose bytes, `item_bytes` each, are copied into a batch of
// `batch_size` of them. 0 when a batch has no bytes.
double BatchCopyLimit(int64_t item_bytes, int batch_size,
                      const LimitOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_LIMITS_H_
