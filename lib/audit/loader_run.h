// What a loader delivered when nothing trained on it, for the judge of
// trainings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/records/loader.pb.h"

namespace feedrate {

// The ids of each batch of an epoch; -1 for an item that shows none.
using BatchIds = std::vector<std::vector<int64_t>>;

struct LoaderRun {
  // Number of items in an epoch.
  int64_t items = 0;
  // Epochs of one process.
  std::vector<BatchIds> epochs;
  // The first epoch again, by processes that are killed: each goes on by the
  // state of the one before. Empty if the loader saves no state.
  std::vector<BatchIds> pieces;
  // The first epoch of ranks that share it, for some numbers of ranks.
  std::vector<std::vector<BatchIds>> ranks;
};

// Judges it as a training, but a loader is to give each item once, also to
// ranks. Sets `coverage`, and adds faults, entries of `ranks`, and of `resumes`
// what each lost and repeated. `name` is that of an item. REQUIRES: an epoch.
void JudgeLoader(const LoaderRun& run,
                 const std::function<std::string(int64_t)>& name, Audit* audit);

}  // namespace feedrate
