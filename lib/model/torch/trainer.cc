#include "lib/model/torch/trainer.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <charconv>
#include <stdexcept>
#include <system_error>

#include "lib/model/torch/profiler.h"

namespace feedrate {
namespace {

// With bf16 and fp16, products run in that type during its lifetime, for which
// casts of the weights are cached. With fp8, in bf16.
class Autocast {
 public:
  Autocast(at::DeviceType device, const std::string& precision)
      : device_(device), enabled_(precision != "fp32" && precision != "tf32") {
    if (!enabled_) return;
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(
        device_, precision == "fp16" ? at::kHalf : at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!enabled_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const at::DeviceType device_;
  const bool enabled_;
};

// As torch.amp.GradScaler has them.
constexpr double kScaleGrowth = 2;
constexpr double kScaleBackoff = 0.5;

// The gradients that exist.
std::vector<at::Tensor> GradientsOf(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : parameters) {
    if (parameter.value.grad().defined()) {
      gradients.push_back(parameter.value.grad());
    }
  }
  return gradients;
}

// The values, without autograd.
std::vector<at::Tensor> ValuesOf(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> values;
  for (const Parameter& parameter : parameters) {
    values.push_back(parameter.value.detach());
  }
  return values;
}

// Divides gradients by `scale`, and sets `overflow` to 1 if one is not finite.
void UnscaleGradients(const std::vector<Parameter>& parameters,
                      const at::Tensor& scale, const at::Tensor& overflow) {
  at::AutoGradMode no_grad(false);
  at::Tensor found = overflow;
  at::_amp_foreach_non_finite_check_and_unscale_(GradientsOf(parameters), found,
                                                 scale.reciprocal());
}

std::vector<double> TakeValues(std::vector<at::Tensor>* values) {
  std::vector<double> taken;
  if (values->empty()) return taken;
  const at::Tensor all =
      at::stack(*values).to(at::kCPU).to(at::kDouble).contiguous();
  const double* data = all.const_data_ptr<double>();
  taken.assign(data, data + all.numel());
  values->clear();
  return taken;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const TrainerOptions& options)
    : parts_(parts),
      options_(options),
      step_clock_(parts.device->MakeClock()),
      clock_(step_clock_.get()) {
  parts_.device->AllowTf32(options.precision == "tf32");
  if (options.precision == "fp16") {
    const auto type = at::TensorOptions(parts_.device->device());
    scale_ = at::full({}, options.loss_scale, type.dtype(at::kFloat));
    growth_ = at::zeros({}, type.dtype(at::kInt));
    overflow_ = at::zeros({}, type.dtype(at::kFloat));
    skipped_ = at::zeros({}, type.dtype(at::kFloat));
    parts_.optimizer->SkipIf(overflow_);
  }
  if (parts_.sync != nullptr) {
    parts_.sync->Broadcast(ValuesOf(parts_.model->parameters()));
    if (parts_.engine != nullptr) {
      parts_.engine->ParametersChanged();
      parts_.engine->SendGradients(
          parts_.bucket_bytes,
          [this](const at::Tensor& part) { parts_.sync->Send(part); });
    }
  }
  if (options.ema_decay > 0) {
    for (const at::Tensor& value : ValuesOf(parts.model->parameters())) {
      averages_.push_back(value.clone());
    }
  }
}

Trainer::~Trainer() = default;

void Trainer::Step() {
  clock_->StartStep();
  if (options_.graphs) {
    StepByGraph();
  } else {
    StepEagerly();
  }
  ++step_;
}

TrainBatch Trainer::NextBatch(int micro) {
  const int64_t index = step_ * options_.accumulation + micro;
  TrainBatch batch;
  {
    const NamedRange range("data");
    batch = parts_.batches->Get(index);
  }
  clock_->Mark(kDataWait);
  const at::Device device = parts_.device->device();
  batch = {batch.input.to(device, batch.input.scalar_type(),
                          /*non_blocking=*/true),
           batch.target.to(device, batch.target.scalar_type(),
                           /*non_blocking=*/true)};
  clock_->Mark(kCopy);
  batch = MixBatch(options_.mixing, index, batch);
  if (options_.depth.rate > 0) {
    batch.kept = KeptBranches(options_.depth, index,
                              parts_.model->spec().layers, batch.input.size(0))
                     .to(device);
  }
  clock_->Mark(kMixing);
  return batch;
}

at::Tensor Trainer::RunBatch(const TrainBatch& batch, bool first) {
  return parts_.engine != nullptr ? RunBatchByEngine(batch, first)
                                  : RunBatchByAutograd(batch);
}

at::Tensor Trainer::RunBatchByEngine(const TrainBatch& batch, bool first) {
  {
    const NamedRange range("forward");
    parts_.engine->Forward(batch.input);
  }
  clock_->Mark(kForward);
  at::Tensor loss;
  {
    const NamedRange range("loss");
    loss = parts_.engine->Loss(batch.target, 1.0 / options_.accumulation);
  }
  clock_->Mark(kLoss);
  {
    const NamedRange range("backward");
    parts_.engine->Backward(first);
  }
  clock_->Mark(kBackward);
  return loss;
}

at::Tensor Trainer::RunBatchByAutograd(const TrainBatch& batch) {
  at::Tensor loss;
  {
    const Autocast autocast(parts_.device->device().type(), options_.precision);
    at::Tensor logits;
    {
      const NamedRange range("forward");
      logits = parts_.model->Forward(batch.input, batch.kept);
    }
    clock_->Mark(kForward);
    const NamedRange range("loss");
    at::Tensor target = batch.target;
    if (logits.dim() == 3) {
      logits = logits.flatten(0, 1);
      target = target.flatten();
    }
    // In float32, as autocast would do it.
    loss = parts_.model->parts()
               .CrossEntropy(logits.to(at::kFloat), target)
               .div(options_.accumulation);
  }
  clock_->Mark(kLoss);
  {
    const NamedRange range("backward");
    (scale_.defined() ? loss.mul(scale_) : loss).backward();
  }
  clock_->Mark(kBackward);
  return loss.detach();
}

at::Tensor Trainer::Predict(const at::Tensor& input) const {
  at::AutoGradMode no_grad(false);
  const at::Device device = parts_.device->device();
  const Autocast autocast(device.type(), options_.precision);
  return parts_.model->Forward(input.to(device));
}

void Trainer::Update() {
  if (scale_.defined()) {
    overflow_.zero_();
    UnscaleGradients(parts_.model->parameters(), scale_, overflow_);
  }
  norm_ = parts_.engine != nullptr ? parts_.engine->GradientNorm()
                                   : GradientNorm(parts_.model->parameters());
  parts_.optimizer->Clip(norm_);
  clock_->Mark(kOther);
  if (!options_.optimizer_in_step) clock_->EndStep();
  {
    const NamedRange range("optimizer_step");
    parts_.optimizer->Step();
  }
  if (!averages_.empty()) {
    at::AutoGradMode no_grad(false);
    at::_foreach_lerp_(averages_, ValuesOf(parts_.model->parameters()),
                       1 - options_.ema_decay);
  }
  if (options_.optimizer_in_step) clock_->Mark(kOptimizer);
  if (scale_.defined()) {
    at::_amp_update_scale_(scale_, growth_, overflow_, kScaleGrowth,
                           kScaleBackoff, options_.growth_interval);
    skipped_.add_(overflow_);
  }
  if (parts_.engine == nullptr) ZeroGradients(parts_.model->parameters());
  if (options_.optimizer_in_step) {
    clock_->Mark(kOther);
    clock_->EndStep();
  }
}

void Trainer::StepEagerly() {
  at::Tensor loss;
  for (int micro = 0; micro < options_.accumulation; ++micro) {
    const TrainBatch batch = NextBatch(micro);
    if (parts_.sync != nullptr) {
      parts_.sync->Prepare(micro + 1 == options_.accumulation);
    }
    const at::Tensor part = RunBatch(batch, micro == 0);
    loss = micro == 0 ? part : loss.add(part);
  }
  if (parts_.sync != nullptr) {
    const NamedRange range("grad_sync");
    parts_.sync->Wait();
    parts_.sync->Average(loss);
    clock_->Mark(kGradSync);
  }
  losses_.push_back(loss);
  Update();
  norms_.push_back(norm_);
}

void Trainer::RecordGraph() {
  if (parts_.sync != nullptr) {
    throw std::runtime_error(
        "graphs are for one process; leave --graphs or --world_size out");
  }
  // Warming up trains the model; restore it afterwards.
  NamedTensors before;
  for (const auto& entry : State()) {
    before.emplace_back(entry.first, entry.second.detach().clone());
  }
  graph_ = parts_.device->Record([this](PhaseClock* clock) {
    clock_ = clock;
    clock_->StartStep();
    graph_loss_ = at::Tensor();
    for (const TrainBatch& batch : graph_batches_) {
      const at::Tensor part = RunBatch(batch, !graph_loss_.defined());
      graph_loss_ = graph_loss_.defined() ? graph_loss_.add(part) : part;
    }
    Update();
    graph_norm_ = norm_;
    clock_ = step_clock_.get();
  });
  CopyTensors(before, State());
  if (parts_.engine != nullptr) parts_.engine->ParametersChanged();
  ZeroGradients(parts_.model->parameters());
  if (skipped_.defined()) skipped_.zero_();
  parts_.device->Synchronize();
}

void Trainer::StepByGraph() {
  for (int micro = 0; micro < options_.accumulation; ++micro) {
    const TrainBatch batch = NextBatch(micro);
    if (graph_ == nullptr) {
      graph_batches_.push_back(
          {batch.input.clone(), batch.target.clone(),
           batch.kept.defined() ? batch.kept.clone() : at::Tensor()});
      continue;
    }
    graph_batches_[micro].input.copy_(batch.input, /*non_blocking=*/true);
    graph_batches_[micro].target.copy_(batch.target, /*non_blocking=*/true);
    if (batch.kept.defined()) graph_batches_[micro].kept.copy_(batch.kept);
    clock_->Mark(kCopy);
  }
  if (graph_ == nullptr) RecordGraph();
  graph_->Replay();
  clock_->Mark(kUnattributed);
  losses_.push_back(graph_loss_.clone());
  norms_.push_back(graph_norm_.clone());
  clock_->Mark(kOther);
  clock_->EndStep();
}

StepTimes Trainer::GraphPhases() {
  constexpr int kSteps = 5;
  StepTimes mean;
  for (int i = 0; i < kSteps && graph_ != nullptr; ++i) {
    Step();
    const StepTimes times = graph_->Phases();
    mean.step_s += times.step_s / kSteps;
    for (int phase = 0; phase < kPhases; ++phase) {
      mean.phase_s[phase] += times.phase_s[phase] / kSteps;
    }
  }
  return mean;
}

std::vector<double> Trainer::TakeLosses() { return TakeValues(&losses_); }

std::vector<double> Trainer::TakeGradientNorms() { return TakeValues(&norms_); }

int64_t Trainer::TakeSkippedSteps() {
  const auto steps = static_cast<int64_t>(skipped_.item<float>());
  skipped_.zero_();
  return steps;
}

void Trainer::SwapAverages() {
  at::AutoGradMode no_grad(false);
  const std::vector<at::Tensor> values = ValuesOf(parts_.model->parameters());
  for (size_t i = 0; i < values.size(); ++i) {
    const at::Tensor value = values[i].clone();
    values[i].copy_(averages_[i]);
    averages_[i].copy_(value);
  }
}

NamedTensors Trainer::Weights(bool averaged) const {
  NamedTensors weights;
  const auto& parameters = parts_.model->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    weights.emplace_back(
        parameters[i].name,
        averaged ? averages_[i] : parameters[i].value.detach());
  }
  return weights;
}

NamedTensors Trainer::State() const {
  NamedTensors state = Weights(/*averaged=*/false);
  for (size_t i = 0; i < averages_.size(); ++i) {
    state.emplace_back("ema." + state[i].first, averages_[i]);
  }
  for (const auto& entry : parts_.optimizer->State()) {
    state.emplace_back("optimizer." + entry.first, entry.second);
  }
  if (scale_.defined()) {
    state.emplace_back("loss_scale.scale", scale_);
    state.emplace_back("loss_scale.growth", growth_);
  }
  return state;
}

Checkpoint Trainer::Save() const {
  Checkpoint checkpoint;
  checkpoint.meta["model"] = parts_.model->spec().name;
  checkpoint.meta["step"] = std::to_string(step_);
  if (!averages_.empty()) checkpoint.meta["ema"] = "1";
  for (const auto& entry : State()) {
    at::Tensor value = entry.second.detach().to(at::kCPU).clone();
    // Checkpoints hold int64.
    if (value.scalar_type() == at::kInt) value = value.to(at::kLong);
    checkpoint.tensors.emplace_back(entry.first, value);
  }
  return checkpoint;
}

void Trainer::Restore(const Checkpoint& checkpoint) {
  const auto model = checkpoint.meta.find("model");
  if (model == checkpoint.meta.end() ||
      model->second != parts_.model->spec().name) {
    throw std::runtime_error("the checkpoint is not of " +
                             parts_.model->spec().name);
  }
  const auto step = checkpoint.meta.find("step");
  if (step == checkpoint.meta.end()) {
    throw std::runtime_error("the checkpoint does not say its step");
  }
  // As many as a double counts, so that no sum of steps overflows.
  constexpr int64_t kMostSteps = int64_t{1} << 53;
  const char* const end = step->second.data() + step->second.size();
  int64_t number = -1;
  const auto read = std::from_chars(step->second.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0 ||
      number > kMostSteps) {
    throw std::runtime_error("the checkpoint's step \"" +
                             step->second.substr(0, 60) +
                             "\" is not a number of steps");
  }
  CopyTensors(checkpoint.tensors, State());
  if (parts_.engine != nullptr) parts_.engine->ParametersChanged();
  step_ = number;
}

at::Tensor GradientNorm(const std::vector<Parameter>& parameters) {
  at::AutoGradMode no_grad(false);
  return at::linalg_vector_norm(
      at::stack(at::_foreach_norm(GradientsOf(parameters))));
}

void ZeroGradients(const std::vector<Parameter>& parameters) {
  at::AutoGradMode no_grad(false);
  const std::vector<at::Tensor> gradients = GradientsOf(parameters);
  if (!gradients.empty()) at::_foreach_zero_(gradients);
}

}  // namespace feedrate
