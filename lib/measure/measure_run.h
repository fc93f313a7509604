// One timed pass over the items.
#ifndef FEEDRATE_LIB_MEASURE_MEASURE_RUN_H_
#define FEEDRATE_LIB_MEASURE_MEASURE_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/measure/chunk.h"
#include "lib/measure/noise.h"
#include "lib/measure/subject.h"

namespace feedrate {

struct RunRequest {
  int64_t num_items = 0;
  ChunkPolicy chunk;
  // What a call took in the warm-up.
  double per_call_s = 0;
  uint64_t seed = 0;
  // Untimed passes over this many items come first: since the warm-up other
  // processes had the caches. 0: none.
  int64_t rewarm_items = 0;
  double hang_s = 60;
  // On a GPU: its L2 is filled with other data before each sample.
  bool cold = false;
};

struct RunResult {
  Timing timing;
  int64_t chunk = 1;
  double elapsed_s = 0;
  std::vector<std::string> warnings;
};

// `request.hang_s` is added to ten times what the warm-up predicts.
absl::StatusOr<RunResult> MeasureRun(const RunRequest& request,
                                     Subject* subject, NoiseWatch* noise);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_MEASURE_RUN_H_
