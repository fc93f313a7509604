// Calls that are made and not counted, until their time has settled.
#ifndef FEEDRATE_LIB_MEASURE_WARM_UP_H_
#define FEEDRATE_LIB_MEASURE_WARM_UP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/measure/subject.h"

namespace feedrate {

struct WarmUpPolicy {
  // Items of the subset that warms up.
  int64_t subset_items = 10;
  // Passes over the subset in the window that must be stable.
  int window = 5;
  // Windows before stability is looked at.
  int min_windows = 3;
  int max_passes = 1000;
  // Relative distance of the window's mean from the mean of all passes but
  // those of the first window, which hold the cost of first calls.
  double stable_within = 0.05;
  // Timed calls last at most this long, at least one pass, whatever the window
  // says: a slow transform has warmed up long before.
  double max_s = 2;
  // Passes over all items after that, each for at most `max_s`: buffers grow to
  // the largest item, and what a library keeps for each size is made.
  int full_passes = 1;
  double hang_s = 60;
  // Items of a sample.
  int64_t chunk = 1;
  bool cold = false;
  // On a GPU whose clock can be read: relative distance of the lowest from the
  // highest reading in the window. It rises for some tenths of a second once
  // there is work, and a short transform has settled long before. 0: not looked
  // at.
  double clock_within = 0;
};

struct WarmUp {
  int passes = 0;
  double elapsed_s = 0;
  bool stable = false;
  // Mean of the last window.
  double per_item_s = 0;
};

absl::StatusOr<WarmUp> RunWarmUp(const WarmUpPolicy& policy, int64_t num_items,
                                 uint64_t seed, Subject* subject);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_WARM_UP_H_
