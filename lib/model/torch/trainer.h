// Training steps, with the phases of each step timed, and the optimizers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/device.h"
#include "lib/model/torch/distributed.h"
#include "lib/model/torch/model.h"

namespace feedrate {

// AdamW and LAMB, on all tensors at once.

struct OptimizerOptions {
  // `adamw` or `lamb`.
  std::string name = "adamw";
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  // Only for parameters that decay.
  double weight_decay = 0.05;
  // Gradients whose norm is larger are scaled down to it. 0: never.
  double clip_norm = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Scales the gradients, whose norm is `norm`, as the options say. Does not
  // wait for the device. Call before Step.
  virtual void Clip(const at::Tensor& norm) {}
  // From the next step on, a step changes nothing if `flag`, a tensor of one
  // value on the device, is 1. c10::Error if this optimizer cannot do that.
  virtual void SkipIf(const at::Tensor& flag);
  // Updates the parameters by their gradients. REQUIRES: all have one.
  virtual void Step() = 0;
  // From the next step on. No effect on a step that a CUDA graph replays.
  virtual void SetLearningRate(double rate) = 0;
  // Everything that the next step depends on, by name, for checkpoints. Returns
  // the optimizer's own tensors: writing to them restores it.
  virtual std::vector<std::pair<std::string, at::Tensor>> State() const = 0;
};

// `parameters` and their gradients must keep their addresses. c10::Error if the
// name is unknown.
std::unique_ptr<Optimizer> MakeOptimizer(
    const std::vector<Parameter>& parameters, const OptimizerOptions& options);

// Norm of all gradients together: a tensor of one value on their device.
at::Tensor GradientNorm(const std::vector<Parameter>& parameters);

// Sets gradients to zero in place: buckets and CUDA graphs rely on their
// addresses. Gradients that do not exist yet are not created.
void ZeroGradients(const std::vector<Parameter>& parameters);

// A model's step without autograd: forward and backward written out. It owns
// the gradients. The trainer calls the three parts of a batch in order.
class StepEngine {
 public:
  virtual ~StepEngine() = default;

  virtual void Forward(const at::Tensor& input) = 0;
  // Returns the loss times `factor`, on the device.
  virtual at::Tensor Loss(const at::Tensor& target, double factor) = 0;
  // Sets the gradients of the step, or adds to them unless `first`.
  virtual void Backward(bool first) = 0;
  virtual at::Tensor GradientNorm() = 0;
  // Call after something else wrote to the parameters.
  virtual void ParametersChanged() = 0;
  // From now on, Backward passes each part of the gradients to `send` as soon
  // as it is final, in parts of at least `bytes`, the last one excepted.
  virtual void SendGradients(int64_t bytes,
                             std::function<void(const at::Tensor&)> send) = 0;
  // How many values were larger than FP8 can tell since the last call. Waits
  // for the device.
  virtual int64_t TakeClippedValues() { return 0; }
};

struct TrainerOptions {
  // `fp32`, `tf32`, `bf16`, `fp8` (of an engine) or `fp16`. With fp16, the loss
  // is scaled: from `loss_scale`, twice as much after `growth_interval` steps
  // without a gradient that is not finite, half as much after a step with one,
  // which changes no parameter.
  std::string precision = "fp32";
  double loss_scale = 65536;
  int growth_interval = 2000;
  // Number of batches whose gradients are summed for one step.
  int accumulation = 1;
  // Whether the optimizer is part of the timed step. It runs in either case.
  bool optimizer_in_step = true;
  // Replays the step as a CUDA graph. Only for a single process.
  bool graphs = false;
  MixingOptions mixing;
  DepthOptions depth;
  // If above 0: keeps averages of the weights, which move towards them by the
  // share 1 - ema_decay after each step.
  double ema_decay = 0;
};

// The parts must outlive the trainer.
struct TrainerParts {
  TrainDevice* device = nullptr;
  const Model* model = nullptr;
  Optimizer* optimizer = nullptr;
  // Null: autograd computes the gradients.
  StepEngine* engine = nullptr;
  BatchSource* batches = nullptr;
  // Null: this process trains alone.
  GradientSync* sync = nullptr;
  // How much an engine collects before `sync` sends it.
  int64_t bucket_bytes = 25 << 20;
};

class Trainer {
 public:
  Trainer(const TrainerParts& parts, const TrainerOptions& options);
  ~Trainer();

  // Runs one step. Does not wait for the device.
  void Step();

  // Number of steps done, including those of a restored checkpoint.
  int64_t step() const { return step_; }
  // Times of the steps since the last call. Waits for the device.
  std::vector<StepTimes> TakeTimes() { return step_clock_->Take(); }
  // Mean time of each phase inside the CUDA graph, from a few steps that are
  // run for it. Zeros without a graph.
  StepTimes GraphPhases();
  // Loss (averaged over processes) and gradient norm of each step since the
  // last call.
  std::vector<double> TakeLosses();
  std::vector<double> TakeGradientNorms();

  // Number of steps since the last call that changed no parameter, and the
  // scale of the loss. For fp16; both wait for the device.
  int64_t TakeSkippedSteps();
  double loss_scale() const { return scale_.item<double>(); }

  // The model's outputs in the precision of the training, without gradients.
  at::Tensor Predict(const at::Tensor& input) const;

  // Exchanges the weights and their averages, for predictions with these. Call
  // it again before the next step. REQUIRES: ema_decay is above 0.
  void SwapAverages();
  // The weights, or their averages.
  NamedTensors Weights(bool averaged) const;

  // Everything that the next step depends on.
  Checkpoint Save() const;
  // std::runtime_error if the checkpoint is from another model or setup.
  void Restore(const Checkpoint& checkpoint);

 private:
  // Forward, loss and backward of one batch. Returns the detached loss.
  at::Tensor RunBatch(const TrainBatch& batch, bool first);
  at::Tensor RunBatchByEngine(const TrainBatch& batch, bool first);
  at::Tensor RunBatchByAutograd(const TrainBatch& batch);
  // Gradient norm, optimizer step, zeroing.
  void Update();
  void StepEagerly();
  void StepByGraph();
  void RecordGraph();
  TrainBatch NextBatch(int micro);
  NamedTensors State() const;

  const TrainerParts parts_;
  const TrainerOptions options_;
  const std::unique_ptr<PhaseClock> step_clock_;
  // `step_clock_`, except while a graph is recorded.
  PhaseClock* clock_;
  int64_t step_ = 0;
  std::vector<at::Tensor> losses_;
  std::vector<at::Tensor> norms_;
  at::Tensor norm_;
  // The average of each parameter. Empty without ema_decay.
  std::vector<at::Tensor> averages_;
  // For fp16: scale of the loss, steps since it changed, whether this step has
  // a gradient that is not finite, and how many steps had one. Undefined
  // otherwise.
  at::Tensor scale_;
  at::Tensor growth_;
  at::Tensor overflow_;
  at::Tensor skipped_;
  // State of the CUDA graph: its inputs, one per batch of a step, and its loss.
  std::unique_ptr<StepGraph> graph_;
  std::vector<TrainBatch> graph_batches_;
  at::Tensor graph_loss_;
  at::Tensor graph_norm_;
};

}  // namespace feedrate
