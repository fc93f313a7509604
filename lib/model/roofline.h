// The fastest that a training step could be on a device: a roofline of its
// parts. Standard library only.
#ifndef FEEDRATE_LIB_MODEL_ROOFLINE_H_
#define FEEDRATE_LIB_MODEL_ROOFLINE_H_

#include <cstdint>
#include <string>

#include "lib/model/model_spec.h"

namespace feedrate {

struct RooflineInput {
  // Samples of one device in one step, all its batches together.
  int64_t samples = 0;
  // Batches that they come in: weights are read for each.
  int64_t batches = 1;
  // 2 for bf16, else 4.
  int64_t bytes_per_value = 4;
  // Measured on the device: operations and bytes a second. Above 0.
  double matmul_flops = 0;
  double copy_bytes = 0;
};

struct Roofline {
  double step_s = 0;
  // What the step has to move.
  double bytes = 0;
};

// Each part takes as long as its products or its bytes, whichever is longer;
// the backward pass twice as long; then the optimiser, which reads weights,
// gradients and two moments and writes all but the gradients, in float32.
Roofline RooflineOf(const ModelSpec& spec, const RooflineInput& input);

// Dense peak of a GPU by its product name, such as `NVIDIA H200`, in operations
// a second; 0 when it is not known. `precision` as in `train`.
double PeakOfGpu(const std::string& gpu, const std::string& precision);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_ROOFLINE_H_
