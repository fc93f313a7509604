// The operations that models are built from, behind one interface: a fused
// kernel replaces a part here, and nothing else changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "lib/model/flops.h"

namespace feedrate {

// Operations on attention heads with handwritten gradients: the derived ones
// would make twice as many passes over the same bytes.

// Q, K and V of one block, batch x heads x tokens x head width.
struct HeadTensors {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

// Views of `qkv`, which is batch x tokens x 3 width and contiguous. They must
// not be written to.
HeadTensors SplitHeads(const at::Tensor& qkv, int64_t heads);

// Rotates the two halves of the last dimension of `x`: x cos + (-second, first)
// sin. `cos` and `sin` are tokens x head width, of the type of `x`, with two
// equal halves, and get no gradient.
at::Tensor Turn(const at::Tensor& x, const at::Tensor& cos,
                const at::Tensor& sin);

// cos and sin of the rotation, tokens x head width each.
struct Rotation {
  at::Tensor cos;
  at::Tensor sin;
};

// Operations take and return tensors that autograd tracks, in any
// floating-point type that autocast chooses. Stateless: one object serves all
// blocks.
class Parts {
 public:
  virtual ~Parts() = default;

  // x weightᵀ + bias.
  virtual at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) const = 0;
  // x divided by its root mean square along the last dimension, times weight.
  virtual at::Tensor RmsNorm(const at::Tensor& x,
                             const at::Tensor& weight) const = 0;
  // Splits `qkv` (batch x tokens x 3 width) into heads, normalizes Q and K
  // within each head, and rotates both.
  virtual HeadTensors SplitNormRotate(const at::Tensor& qkv, int64_t heads,
                                      const at::Tensor& q_weight,
                                      const at::Tensor& k_weight,
                                      const Rotation& rotation) const = 0;
  // Softmax attention, batch x tokens x width.
  virtual at::Tensor Attention(const HeadTensors& heads, bool causal) const = 0;
  // GELU between two products.
  virtual at::Tensor Mlp(const at::Tensor& x, const at::Tensor& up,
                         const at::Tensor& up_bias, const at::Tensor& down,
                         const at::Tensor& down_bias) const = 0;
  // x + scale y.
  virtual at::Tensor ScaledResidual(const at::Tensor& x,
                                    const at::Tensor& scale,
                                    const at::Tensor& y) const = 0;
  // Mean cross entropy. Targets are class numbers or, if of floating-point
  // type, probabilities of all classes.
  virtual at::Tensor CrossEntropy(const at::Tensor& logits,
                                  const at::Tensor& targets) const = 0;
};

// One ATen operation after another, like PyTorch in eager mode, with the
// handwritten gradients of SplitHeads and Turn.
const Parts& EagerParts();

// Angles of rotary position embeddings. For text, positions 0 … tokens-1. For
// images, half of the pairs rotate with a patch's row and half with its column;
// class and register tokens, which have no position, do not rotate. float32, on
// the CPU.
Rotation MakeRotation(const ModelSpec& spec);

using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

// Activation checkpointing: returns `function(x)`, but autograd keeps only `x`,
// and the backward pass calls the function again. It must return the same
// result both times. Gradients reach `x` and the leaves that the function uses.
// REQUIRES: x.requires_grad(), or no gradient is needed.
at::Tensor Recompute(const TensorFunction& function, const at::Tensor& x);

}  // namespace feedrate
