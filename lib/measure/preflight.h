// A look at a transform before it is measured: is it too slow to be worth it?
#ifndef FEEDRATE_LIB_MEASURE_PREFLIGHT_H_
#define FEEDRATE_LIB_MEASURE_PREFLIGHT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/measure/subject.h"

namespace feedrate {

struct PreflightPolicy {
  int64_t items = 10;
  int passes = 1;
  // Seconds an item from which it stops early, inclusive.
  double slow_threshold_s = 0.05;
  // A preflight that takes longer stops the row, however many items it saw.
  double max_s = 60;
  // False: what is slow runs to the end all the same.
  bool slow_skip = true;
  // Without an answer after this many seconds it counts as hanging.
  double hang_s = 120;
  // Items of a sample.
  int64_t chunk = 1;
};

struct Preflight {
  double elapsed_s = 0;
  int64_t items = 0;
  double per_item_s = 0;
  // True: the row stops here, for this reason.
  bool stops_early = false;
  std::string reason;
};

// Nothing warms up before it: the cost of first calls counts, as in the public
// benchmark. `unit` is for the reason.
absl::StatusOr<Preflight> RunPreflight(const PreflightPolicy& policy,
                                       int64_t num_items, uint64_t seed,
                                       const std::string& unit,
                                       Subject* subject);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_PREFLIGHT_H_
