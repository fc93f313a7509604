// Angles of rotary position embeddings, made once for a model.
#ifndef FEEDRATE_LIB_MODEL_TORCH_ROTATION_H_
#define FEEDRATE_LIB_MODEL_TORCH_ROTATION_H_

#include "lib/model/model_spec.h"
#include "lib/model/torch/parts.h"

namespace feedrate {

// For text, positions 0 … tokens-1. For images, half of the pairs turn with a
// patch's row and half with its column; class and register tokens, which have
// no place, do not turn. float32, on the CPU.
Rotation MakeRotation(const ModelSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_ROTATION_H_
