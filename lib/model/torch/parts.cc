#include "lib/model/torch/parts.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

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
    // With two types libtorch would not use its fused kernel.
    return at::rms_norm(x, weight.sizes(), weight.to(x.scalar_type()),
                        kNormEpsilon);
  }

  HeadTensors SplitNormRotate(const at::Tensor& qkv, int64_t heads,
                              const at::Tensor& q_weight,
                              const at::Tensor& k_weight,
                              const Rotation& rotation) const override {
    const HeadTensors split = SplitHeads(qkv, heads);
    // Norms may compute in float32; attention needs one type for all three.
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

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// batch x tokens x 3 width as 3 x batch x heads x tokens x head width.
at::Tensor ByHead(const at::Tensor& qkv, int64_t heads) {
  return qkv
      .view({qkv.size(0), qkv.size(1), 3, heads, qkv.size(2) / (3 * heads)})
      .permute({2, 0, 3, 1, 4});
}

class SplitHeadsFunction
    : public torch::autograd::Function<SplitHeadsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& qkv,
                               int64_t heads) {
    context->saved_data["heads"] = heads;
    return ByHead(qkv, heads).unbind(0);
  }

  // Writes each gradient directly to its place; autograd would stack the three
  // and then copy the stack into the order of `qkv`.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const int64_t heads = context->saved_data["heads"].toInt();
    const at::Tensor& any = gradients[0];
    const at::Tensor all = at::empty(
        {any.size(0), any.size(2), 3 * heads * any.size(3)}, any.options());
    const at::Tensor places = ByHead(all, heads);
    for (int64_t i = 0; i < 3; ++i) places.select(0, i).copy_(gradients[i]);
    return {all, at::Tensor()};
  }
};

// `sign` -1 rotates back.
at::Tensor Turned(const at::Tensor& x, const at::Tensor& cos,
                  const at::Tensor& sin, double sign) {
  const int64_t half = x.size(-1) / 2;
  const auto first = [half](const at::Tensor& t) {
    return t.narrow(-1, 0, half);
  };
  const auto second = [half](const at::Tensor& t) {
    return t.narrow(-1, half, half);
  };
  const at::Tensor y = at::mul(x, cos);
  first(y).addcmul_(second(x), first(sin), -sign);
  second(y).addcmul_(first(x), second(sin), sign);
  return y;
}

class TurnFunction : public torch::autograd::Function<TurnFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& cos, const at::Tensor& sin) {
    context->save_for_backward({cos, sin});
    return Turned(x, cos, sin, 1);
  }

  // The gradient of a rotation is the rotation by the opposite angle.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    return {Turned(gradients[0], saved[0], saved[1], -1), at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

HeadTensors SplitHeads(const at::Tensor& qkv, int64_t heads) {
  const variable_list split = SplitHeadsFunction::apply(qkv, heads);
  return {split[0], split[1], split[2]};
}

at::Tensor Turn(const at::Tensor& x, const at::Tensor& cos,
                const at::Tensor& sin) {
  return TurnFunction::apply(x, cos, sin);
}

namespace {

// As in most language models. Images have few positions and need a higher
// lowest frequency.
constexpr double kTextBase = 10000;
constexpr double kImageBase = 100;

// positions x pairs, double.
at::Tensor Angles(const at::Tensor& positions, int64_t pairs, double base) {
  const at::Tensor steps = at::arange(pairs, at::kDouble).div(pairs);
  return at::outer(positions, at::pow(base, steps.neg()));
}

at::Tensor TextAngles(const ModelSpec& spec) {
  return Angles(at::arange(spec.tokens(), at::kDouble), spec.head_width() / 2,
                kTextBase);
}

at::Tensor ImageAngles(const ModelSpec& spec) {
  const int64_t side = spec.image_size / spec.patch_size;
  const int64_t pairs = spec.head_width() / 4;
  const at::Tensor patch = at::arange(spec.patches(), at::kLong);
  const at::Tensor row = patch.floor_divide(side).to(at::kDouble);
  const at::Tensor column = patch.remainder(side).to(at::kDouble);
  const at::Tensor placed = at::cat(
      {Angles(row, pairs, kImageBase), Angles(column, pairs, kImageBase)},
      /*dim=*/1);
  const at::Tensor still =
      at::zeros({1 + spec.registers, 2 * pairs}, at::kDouble);
  return at::cat({still, placed}, /*dim=*/0);
}

}  // namespace

Rotation MakeRotation(const ModelSpec& spec) {
  at::Tensor angles =
      spec.kind == ModelKind::kVit ? ImageAngles(spec) : TextAngles(spec);
  // Both halves of the width rotate by the same angle.
  angles = at::cat({angles, angles}, /*dim=*/1);
  return {at::cos(angles).to(at::kFloat), at::sin(angles).to(at::kFloat)};
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A context stores IValues, which can hold any reference-counted object as a
// capsule.
struct FunctionHolder : torch::CustomClassHolder {
  TensorFunction function;
};

// Autocast settings of the forward pass, for the recomputation.
class AutocastState {
 public:
  explicit AutocastState(at::DeviceType device)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)) {}

  void Apply() const {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
};

class RecomputeFunction : public torch::autograd::Function<RecomputeFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const TensorFunction* function,
                            const AutocastState* autocast) {
    context->save_for_backward({x});
    // Copies, since the caller's go out of scope before the backward pass.
    const TensorFunction kept = *function;
    const AutocastState state = *autocast;
    (*Stored(context)) = [kept, state](const at::Tensor& input) {
      const AutocastState outer(input.device().type());
      state.Apply();
      at::Tensor y = kept(input);
      outer.Apply();
      return y;
    };
    at::AutoGradMode no_grad(false);
    return (*function)(x);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const at::Tensor saved = context->get_saved_variables()[0];
    at::Tensor x = saved.detach();
    x.requires_grad_(true);
    at::Tensor y;
    {
      at::AutoGradMode grad(true);
      y = (*Stored(context))(x);
    }
    y.backward(gradients[0]);
    return {x.grad(), at::Tensor(), at::Tensor()};
  }

 private:
  // Lives as long as the context.
  static TensorFunction* Stored(AutogradContext* context) {
    constexpr char kName[] = "function";
    auto& data = context->saved_data;
    if (data.find(kName) == data.end()) {
      data[kName] =
          at::IValue::make_capsule(c10::make_intrusive<FunctionHolder>());
    }
    return &static_cast<FunctionHolder*>(data[kName].toCapsule().get())
                ->function;
  }
};

}  // namespace

at::Tensor Recompute(const TensorFunction& function, const at::Tensor& x) {
  const AutocastState autocast(x.device().type());
  return RecomputeFunction::apply(x, &function, &autocast);
}

}  // namespace feedrate
