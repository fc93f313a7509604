// What a training step is fed with.
#ifndef FEEDRATE_LIB_MODEL_TORCH_BATCHES_H_
#define FEEDRATE_LIB_MODEL_TORCH_BATCHES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "lib/model/model_spec.h"

namespace feedrate {

struct TrainBatch {
  at::Tensor input;
  // Class numbers; bytes, one place further than the input.
  at::Tensor target;
};

// Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Batch number `index` from 0 on. Waits until it is there. May be on the host
  // or on the device.
  virtual TrainBatch Get(int64_t index) = 0;
};

struct SyntheticOptions {
  int64_t batch_size = 0;
  // Samples of the whole set, over which batches go round.
  int64_t samples = 0;
  uint64_t seed = 0;
  at::Device device = at::kCPU;
  // This process and how many share each step: rank r takes the r-th part of
  // what one process with world_size x batch_size samples would take.
  int rank = 0;
  int world_size = 1;
};

// A set that is the same everywhere and lies on the device: noise with a hint
// of its class for images, sentences of a small made-up language for bytes. It
// can be learned, so that a loss falls.
std::unique_ptr<BatchSource> MakeSyntheticBatches(
    const ModelSpec& spec, const SyntheticOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_BATCHES_H_
