// AdamW and LAMB, all tensors in one go.
#ifndef FEEDRATE_LIB_MODEL_TORCH_OPTIMIZER_H_
#define FEEDRATE_LIB_MODEL_TORCH_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/torch/model.h"

namespace feedrate {

struct OptimizerOptions {
  // `adamw` or `lamb`.
  std::string name = "adamw";
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  // Only for parameters that decay.
  double weight_decay = 0.05;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Moves the parameters by their gradients. REQUIRES: all have one.
  virtual void Step() = 0;
  // From the next step on. No effect on a step that a CUDA graph replays.
  virtual void SetLearningRate(double rate) = 0;
  // Everything that the next step depends on, named; for checkpoints. The
  // tensors are its own: writing into them restores it.
  virtual std::vector<std::pair<std::string, at::Tensor>> State() const = 0;
};

// `parameters` and their gradients stay where they are. c10::Error when the
// name is unknown.
std::unique_ptr<Optimizer> MakeOptimizer(
    const std::vector<Parameter>& parameters, const OptimizerOptions& options);

// Norm of all gradients together, a tensor of one value on their device.
at::Tensor GradientNorm(const std::vector<Parameter>& parameters);

// Gradients to zero, in place where they are: buckets and CUDA graphs know
// their addresses. Those that are not there yet stay so.
void ZeroGradients(const std::vector<Parameter>& parameters);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_OPTIMIZER_H_
