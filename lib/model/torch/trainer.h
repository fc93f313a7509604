// One training step after the other, each part of it marked.
#ifndef FEEDRATE_LIB_MODEL_TORCH_TRAINER_H_
#define FEEDRATE_LIB_MODEL_TORCH_TRAINER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/device.h"
#include "lib/model/torch/gradient_sync.h"
#include "lib/model/torch/mixing.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/optimizer.h"

namespace feedrate {

struct TrainerOptions {
  // `fp32`, `tf32` or `bf16`.
  std::string precision = "fp32";
  // Batches whose gradients are added up for one step.
  int accumulation = 1;
  // Whether the optimiser is inside what the clock times. It steps either way.
  bool optimizer_in_step = true;
  // Replays the step as a CUDA graph. For one process alone.
  bool graphs = false;
  MixingOptions mixing;
};

// What it is made of outlives it.
struct TrainerParts {
  TrainDevice* device = nullptr;
  const Model* model = nullptr;
  Optimizer* optimizer = nullptr;
  BatchSource* batches = nullptr;
  // Null: this process trains alone.
  GradientSync* sync = nullptr;
};

class Trainer {
 public:
  Trainer(const TrainerParts& parts, const TrainerOptions& options);
  ~Trainer();

  // One step. Does not wait for the device.
  void Step();

  // Steps made, those of a checkpoint included.
  int64_t step() const { return step_; }
  // Of the steps since the last call, waiting for the device.
  std::vector<StepTimes> TakeTimes() { return clock_->Take(); }
  // Loss (mean over processes where there are several) and norm of the
  // gradient of each step since the last call.
  std::vector<double> TakeLosses();
  std::vector<double> TakeGradientNorms();

  // Everything that the next step depends on.
  Checkpoint Save() const;
  // std::runtime_error when it is of another model or another set-up.
  void Restore(const Checkpoint& checkpoint);

 private:
  // Forward, loss and backward of one batch; the loss, detached.
  at::Tensor RunBatch(const TrainBatch& batch);
  // Norm, optimiser, zeroing.
  void Update();
  void StepEagerly();
  void StepByGraph();
  void RecordGraph();
  TrainBatch NextBatch(int micro);
  NamedTensors State() const;

  const TrainerParts parts_;
  const TrainerOptions options_;
  std::unique_ptr<PhaseClock> clock_;
  int64_t step_ = 0;
  std::vector<at::Tensor> losses_;
  std::vector<at::Tensor> norms_;
  at::Tensor norm_;
  // Of the graph: where its inputs are, one for each batch of a step, and where
  // its loss is found.
  std::unique_ptr<StepGraph> graph_;
  std::vector<TrainBatch> graph_batches_;
  at::Tensor graph_loss_;
  at::Tensor graph_norm_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_TRAINER_H_
