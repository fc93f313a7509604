// AdamW and LAMB: the optimizers of trainer.h.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/torch/trainer.h"

namespace feedrate {
namespace {

using Tensors = std::vector<at::Tensor>;

// Parameters that are treated alike, and their state.
struct Group {
  double weight_decay = 0;
  Tensors values;
  std::vector<std::string> names;
  Tensors first_moments;
  Tensors second_moments;
  // Steps done, one tensor each on the device, so that a CUDA graph can count.
  Tensors steps;

  Tensors Gradients() const {
    Tensors gradients;
    for (const at::Tensor& value : values) gradients.push_back(value.grad());
    return gradients;
  }
};

Group MakeGroup(const std::vector<Parameter>& parameters, bool decays,
                double weight_decay) {
  Group group;
  group.weight_decay = decays ? weight_decay : 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.decays != decays) continue;
    group.values.push_back(parameter.value);
    group.names.push_back(parameter.name);
    const at::Tensor value = parameter.value.detach();
    group.first_moments.push_back(at::zeros_like(value));
    group.second_moments.push_back(at::zeros_like(value));
    group.steps.push_back(at::zeros({}, value.options()));
  }
  return group;
}

class MomentOptimizer : public Optimizer {
 public:
  MomentOptimizer(const std::vector<Parameter>& parameters,
                  const OptimizerOptions& options)
      : options_(options) {
    for (const bool decays : {true, false}) {
      groups_.push_back(MakeGroup(parameters, decays, options.weight_decay));
    }
  }

  void Step() override {
    at::AutoGradMode no_grad(false);
    for (Group& group : groups_) {
      if (!group.values.empty()) StepGroup(&group);
    }
  }

  // As torch.nn.utils.clip_grad_norm_ does it.
  void Clip(const at::Tensor& norm) override {
    if (options_.clip_norm <= 0) return;
    at::AutoGradMode no_grad(false);
    const at::Tensor factor =
        at::clamp_max(norm.add(1e-6).reciprocal().mul(options_.clip_norm), 1);
    for (Group& group : groups_) {
      if (!group.values.empty()) at::_foreach_mul_(group.Gradients(), factor);
    }
  }

  void SetLearningRate(double rate) override { options_.learning_rate = rate; }

  std::vector<std::pair<std::string, at::Tensor>> State() const override {
    std::vector<std::pair<std::string, at::Tensor>> state;
    for (const Group& group : groups_) {
      for (size_t i = 0; i < group.values.size(); ++i) {
        const std::string& name = group.names[i];
        state.emplace_back("first." + name, group.first_moments[i]);
        state.emplace_back("second." + name, group.second_moments[i]);
        state.emplace_back("steps." + name, group.steps[i]);
      }
    }
    return state;
  }

 protected:
  virtual void StepGroup(Group* group) = 0;

  OptimizerOptions options_;

 private:
  std::vector<Group> groups_;
};

class AdamW : public MomentOptimizer {
 public:
  using MomentOptimizer::MomentOptimizer;

  void SkipIf(const at::Tensor& flag) override { skip_ = flag; }

 protected:
  void StepGroup(Group* group) override {
    if (skip_.defined()) {
      at::_foreach_add_(group->steps, at::ones_like(skip_).sub(skip_));
    } else {
      at::_foreach_add_(group->steps, 1);
    }
    at::_fused_adamw_(group->values, group->Gradients(), group->first_moments,
                      group->second_moments, /*max_exp_avg_sqs=*/{},
                      group->steps, options_.learning_rate, options_.beta1,
                      options_.beta2, group->weight_decay, options_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false,
                      /*grad_scale=*/{}, skip());
  }

 private:
  std::optional<at::Tensor> skip() const {
    return skip_.defined() ? std::make_optional(skip_) : std::nullopt;
  }

  at::Tensor skip_;
};

// Adam's direction, scaled by the norm of each tensor over the norm of its
// direction. Without bias correction, as published for large batches; the ratio
// of norms compensates for it.
class Lamb : public MomentOptimizer {
 public:
  using MomentOptimizer::MomentOptimizer;

 protected:
  void StepGroup(Group* group) override {
    const Tensors gradients = group->Gradients();
    at::_foreach_add_(group->steps, 1);
    at::_foreach_lerp_(group->first_moments, gradients, 1 - options_.beta1);
    at::_foreach_mul_(group->second_moments, options_.beta2);
    at::_foreach_addcmul_(group->second_moments, gradients, gradients,
                          1 - options_.beta2);
    Tensors roots = at::_foreach_sqrt(group->second_moments);
    at::_foreach_add_(roots, options_.epsilon);
    Tensors directions = at::_foreach_div(group->first_moments, roots);
    if (group->weight_decay != 0) {
      at::_foreach_add_(directions, group->values, group->weight_decay);
    }
    const Tensors ratios = TrustRatios(group->values, directions);
    at::_foreach_mul_(directions, ratios);
    at::_foreach_add_(group->values, directions, -options_.learning_rate);
  }

 private:
  // 1 where a norm is 0.
  static Tensors TrustRatios(const Tensors& values, const Tensors& directions) {
    const at::Tensor lengths = at::stack(at::_foreach_norm(values));
    const at::Tensor strides = at::stack(at::_foreach_norm(directions));
    const at::Tensor usable = lengths.gt(0).logical_and(strides.gt(0));
    return at::where(usable, lengths.div(strides), at::ones_like(lengths))
        .unbind();
  }
};

}  // namespace

void Optimizer::SkipIf(const at::Tensor&) {
  TORCH_CHECK(false, "fp16 needs an optimizer that can skip a step: adamw");
}

std::unique_ptr<Optimizer> MakeOptimizer(
    const std::vector<Parameter>& parameters, const OptimizerOptions& options) {
  if (options.name == "adamw") {
    return std::make_unique<AdamW>(parameters, options);
  }
  TORCH_CHECK(options.name == "lamb", "optimizer \"", options.name,
              "\" is unknown; use adamw or lamb");
  return std::make_unique<Lamb>(parameters, options);
}

}  // namespace feedrate
