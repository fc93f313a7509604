// One transformer block: attention and MLP, each behind a norm, each added with
// a scale of its own.
#ifndef FEEDRATE_LIB_MODEL_TORCH_BLOCK_H_
#define FEEDRATE_LIB_MODEL_TORCH_BLOCK_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "lib/model/model_spec.h"
#include "lib/model/torch/parts.h"
#include "lib/model/torch/weights.h"

namespace feedrate {

struct Block {
  int64_t heads = 0;
  bool causal = false;
  at::Tensor attention_norm;
  at::Tensor qkv;
  at::Tensor q_norm;
  at::Tensor k_norm;
  at::Tensor projection;
  at::Tensor attention_scale;
  at::Tensor mlp_norm;
  at::Tensor up;
  at::Tensor up_bias;
  at::Tensor down;
  at::Tensor down_bias;
  at::Tensor mlp_scale;
};

// Makes the weights of a block, named `prefix`.qkv and so on.
Block MakeBlock(const ModelSpec& spec, const std::string& prefix,
                WeightMaker* weights);

// Batch x tokens x width to the same. `rotation` has as many tokens.
at::Tensor RunBlock(const Parts& parts, const Block& block,
                    const Rotation& rotation, const at::Tensor& x);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_BLOCK_H_
