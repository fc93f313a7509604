#include "lib/model/torch/recompute.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace feedrate {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A context keeps IValues, and those keep any counted object as a capsule.
struct FunctionHolder : torch::CustomClassHolder {
  TensorFunction function;
};

// Types of autocast during the forward pass, for the second time.
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
    // Copies: the caller's go out of scope before the backward pass.
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
