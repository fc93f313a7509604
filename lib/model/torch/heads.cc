#include "lib/model/torch/heads.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>

namespace feedrate {
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

  // Each gradient goes straight to its place, where autograd would stack the
  // three and then copy the stack into the order of `qkv`.
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

// `sign` -1 turns back.
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

  // A rotation's gradient is turned back by the same angle.
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

}  // namespace feedrate
