// Mixup and CutMix, on the device.
#ifndef FEEDRATE_LIB_MODEL_TORCH_MIXING_H_
#define FEEDRATE_LIB_MODEL_TORCH_MIXING_H_

#include <cstdint>
#include <string>

#include "lib/model/torch/batches.h"

namespace feedrate {

struct MixingOptions {
  // ``: none, `mixup`, `cutmix`, or `both` in turns.
  std::string kind;
  int64_t classes = 0;
  uint64_t seed = 0;
};

// Mixes each image with the one at the other end of the batch, and their
// classes into probabilities: Mixup adds them, CutMix pastes a box. The share
// is uniform and, as the box, decided by the seed and `index`. Without a kind
// the batch itself. std::runtime_error for another kind.
TrainBatch MixBatch(const MixingOptions& options, int64_t index,
                    const TrainBatch& batch);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_MIXING_H_
