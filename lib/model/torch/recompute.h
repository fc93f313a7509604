// Activation checkpointing: computing again instead of keeping.
#ifndef FEEDRATE_LIB_MODEL_TORCH_RECOMPUTE_H_
#define FEEDRATE_LIB_MODEL_TORCH_RECOMPUTE_H_

#include <ATen/core/Tensor.h>

#include <functional>

namespace feedrate {

using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

// `function(x)`, of which autograd keeps only `x`: the backward pass calls it
// once more. It must give the same both times. Gradients reach `x` and the
// leaves that the function uses. REQUIRES: x.requires_grad() or no gradient is
// wanted.
at::Tensor Recompute(const TensorFunction& function, const at::Tensor& x);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_RECOMPUTE_H_
