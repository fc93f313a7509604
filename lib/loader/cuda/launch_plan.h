// Which samples of a piece are made by which launch. No GPU in it.
#ifndef FEEDRATE_LIB_LOADER_CUDA_LAUNCH_PLAN_H_
#define FEEDRATE_LIB_LOADER_CUDA_LAUNCH_PLAN_H_

#include <vector>

#include "lib/loader/cuda/batch_queue.h"

namespace feedrate {

// A launch writes samples that lie side by side, and mixes each with any sample
// it is told about. So it is told about all samples of the piece, those that it
// writes first.
struct LaunchPlan {
  // Place in the batch of the first that it writes, and how many these are.
  int at = 0;
  int count = 0;
  // The piece's own samples, in the order of this launch.
  std::vector<int> samples;
  // For each of them where its partner is in that order; -1: nowhere.
  std::vector<int> partners;
};

// One for the piece, or one for each half of a piece of pairs.
std::vector<LaunchPlan> LaunchesOf(const BatchQueue::Piece& piece);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_LAUNCH_PLAN_H_
