// What the models are made of, behind one interface: a fused kernel replaces a
// part here, and nothing else changes.
#ifndef FEEDRATE_LIB_MODEL_TORCH_PARTS_H_
#define FEEDRATE_LIB_MODEL_TORCH_PARTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "lib/model/torch/heads.h"

namespace feedrate {

// cos and sin of the rotation, tokens x head width each.
struct Rotation {
  at::Tensor cos;
  at::Tensor sin;
};

// Every operation takes and gives tensors that autograd knows, in any floating
// type that autocast hands it. Stateless: one serves all blocks.
class Parts {
 public:
  virtual ~Parts() = default;

  // x weightᵀ + bias.
  virtual at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) const = 0;
  // x over the root of its mean square along the last dimension, by weight.
  virtual at::Tensor RmsNorm(const at::Tensor& x,
                             const at::Tensor& weight) const = 0;
  // Splits `qkv` (batch x tokens x 3 width) into heads, norms Q and K within
  // each head, rotates both.
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
  // Mean cross entropy. Targets are class numbers or, of floating type,
  // probabilities of all classes.
  virtual at::Tensor CrossEntropy(const at::Tensor& logits,
                                  const at::Tensor& targets) const = 0;
};

// One operation of ATen after the other, as PyTorch in eager mode; splitting
// and turning heads with the gradients of heads.h.
const Parts& EagerParts();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_PARTS_H_
