#include "lib/model/torch/parts.h"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace feedrate {
namespace {

constexpr double kNormEpsilon = 1e-6;

at::Tensor Rotate(const at::Tensor& x, const Rotation& rotation) {
  return Turn(x, rotation.cos.to(x.scalar_type()),
              rotation.sin.to(x.scalar_type()));
}

class AtenParts : public Parts {
 public:
  at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias) const override {
    return at::linear(x, weight, bias);
  }

  at::Tensor RmsNorm(const at::Tensor& x,
                     const at::Tensor& weight) const override {
    // Of two types, libtorch would leave its fused kernel.
    return at::rms_norm(x, weight.sizes(), weight.to(x.scalar_type()),
                        kNormEpsilon);
  }

  HeadTensors SplitNormRotate(const at::Tensor& qkv, int64_t heads,
                              const at::Tensor& q_weight,
                              const at::Tensor& k_weight,
                              const Rotation& rotation) const override {
    const HeadTensors split = SplitHeads(qkv, heads);
    // Norms may compute in float32; attention wants one type for all three.
    const at::ScalarType type = split.v.scalar_type();
    const at::Tensor q = RmsNorm(split.q, q_weight).to(type);
    const at::Tensor k = RmsNorm(split.k, k_weight).to(type);
    return {Rotate(q, rotation), Rotate(k, rotation), split.v};
  }

  at::Tensor Attention(const HeadTensors& heads, bool causal) const override {
    const at::Tensor out = at::scaled_dot_product_attention(
        heads.q, heads.k, heads.v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal);
    return out.transpose(1, 2).reshape(
        {out.size(0), out.size(2), out.size(1) * out.size(3)});
  }

  at::Tensor Mlp(const at::Tensor& x, const at::Tensor& up,
                 const at::Tensor& up_bias, const at::Tensor& down,
                 const at::Tensor& down_bias) const override {
    return at::linear(at::gelu(at::linear(x, up, up_bias)), down, down_bias);
  }

  at::Tensor ScaledResidual(const at::Tensor& x, const at::Tensor& scale,
                            const at::Tensor& y) const override {
    return at::addcmul(x, y, scale);
  }

  at::Tensor CrossEntropy(const at::Tensor& logits,
                          const at::Tensor& targets) const override {
    return at::cross_entropy_loss(logits, targets);
  }
};

}  // namespace

const Parts& EagerParts() {
  static const auto* const parts = new AtenParts;
  return *parts;
}

}  // namespace feedrate
