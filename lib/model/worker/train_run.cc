#include "lib/model/worker/train_run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/adapters/native/loader_job.h"
#include "lib/adapters/torch/blas.h"
#include "lib/loader/source.h"
#include "lib/loader/source/remote_source.h"
#include "lib/machine/energy.h"
#include "lib/machine/gpu.h"
#include "lib/model/flops.h"
#include "lib/model/schedule.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/device.h"
#include "lib/model/torch/distributed.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/profiler.h"
#include "lib/model/torch/script_model.h"
#include "lib/model/torch/trainer.h"
#include "lib/model/worker/answer.h"
#include "lib/model/worker/energy_of_work.h"
#include "lib/model/worker/exported_weights.h"
#include "lib/model/worker/train_data.h"
#include "lib/model/worker/validation.h"

#if defined(FEEDRATE_CUDA)
#include "lib/model/fused/engine.h"
#endif

namespace feedrate {
namespace {

class Training {
 public:
  Training(const TrainSpec& spec, const Tell& tell)
      : spec_(spec), tell_(tell), model_spec_(FindModel(spec.model)) {
    const std::string foreign = ForeignBlas();
    if (spec_.device == "cpu" && !foreign.empty()) {
      throw std::runtime_error(foreign);
    }
    if (spec_.threads > 0) at::set_num_threads(spec_.threads);
    if (spec_.deterministic) {
      at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
      // Read when cuBLAS starts.
      setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    }
    device_ = MakeTrainDevice(spec_.device, spec_.device_index);
    MakeParts();
  }

  void Run() {
    TellReady();
    // Before warm-up, so that memory that only warm-up needs counts as well:
    // training must have it.
    device_->ResetPeaks();
    for (int64_t i = 0; i < spec_.warmup; ++i) Step(spec_.warmup + spec_.steps);
    device_->Synchronize();
    trainer_->TakeTimes();
    TakeLearning();
    losses_.clear();
    norms_.clear();
    if (IsScaled()) trainer_->TakeSkippedSteps();
    if (step_engine_ != nullptr) step_engine_->TakeClippedValues();
    const GpuPlace gpu = device_->gpu();
    if (!gpu.name.empty()) use_ = std::make_unique<GpuUse>(gpu.pci_bus_id);
    paused_s_ = 0;
    const MemoryPeaks at_start = device_->Peaks();
    std::optional<StorageCounts> objects;
    const Source* const source = data_->source();
    if (source != nullptr) objects = StorageOf(*source);
    energy_of_work_ =
        std::make_unique<EnergyOfWork>(Root(), OpenGpuEnergy(gpu));
    const double start = MonotonicSeconds();
    for (int64_t i = 0; i < spec_.steps; ++i) Step(spec_.warmup + spec_.steps);
    device_->Synchronize();
    wall_s_ = MonotonicSeconds() - start - paused_s_;
    energy_ = energy_of_work_->Stop();
    energy_of_work_ = nullptr;
    if (objects.has_value()) objects_ = StorageSince(*objects, *source);
    if (use_ != nullptr) gpu_use_ = use_->Stop();
    const MemoryPeaks at_end = device_->Peaks();
    allocations_ = at_end.allocations - at_start.allocations;
    device_allocations_ =
        at_end.device_allocations - at_start.device_allocations;
    times_ = trainer_->TakeTimes();
    TakeLearning();
    if (IsScaled()) {
      skipped_steps_ = trainer_->TakeSkippedSteps();
      loss_scale_ = trainer_->loss_scale();
    }
    if (spec_.precision == "fp8") {
      method_ += "; " + std::to_string(step_engine_->TakeClippedValues()) +
                 " values clipped in the measured steps";
    }
    NotePeaks();
    if (spec_.validate_every > 0) Validate();
    Save();
    if (spec_.rank == 0) Export();
    if (spec_.graphs) graph_phases_ = trainer_->GraphPhases();
    if (spec_.count) CountProducts();
    Profile();
    if (spec_.rates) rates_ = MeasureRates(device_.get(), spec_.precision);
    TellResult();
  }

 private:
  static const ModelSpec& FindModel(const std::string& name) {
    const ModelSpec* const spec = ModelNamed(name);
    if (spec == nullptr) {
      throw std::runtime_error("model \"" + name + "\" is unknown");
    }
    return *spec;
  }

  // Null where there is no GPU, or it does not tell.
  static std::unique_ptr<GpuEnergy> OpenGpuEnergy(const GpuPlace& gpu) {
    if (gpu.name.empty()) return nullptr;
    auto opened = GpuEnergy::OpenAt(NvmlLibraries(), gpu.pci_bus_id);
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  // Whether the loss is scaled, which needs a trainer in fp16.
  bool IsScaled() const { return spec_.precision == "fp16"; }

  void NotePeaks() {
    const MemoryPeaks now = device_->Peaks();
    peaks_.allocated_bytes =
        std::max(peaks_.allocated_bytes, now.allocated_bytes);
    peaks_.reserved_bytes = std::max(peaks_.reserved_bytes, now.reserved_bytes);
  }

  void MakeParts() {
    ModelOptions model_options;
    model_options.device = device_->device();
    model_options.seed = spec_.seed;
    model_options.activation_checkpointing = spec_.activation_checkpointing;
    if (spec_.script.empty()) {
      model_ = MakeModel(model_spec_, model_options);
    } else {
      model_ = LoadScriptModel(spec_.script, device_->device());
      model_spec_ = model_->spec();
    }
    if (!spec_.import_weights.empty()) {
      ImportWeights(spec_.import_weights, *model_);
    }
    OptimizerOptions optimizer_options;
    optimizer_options.name = spec_.optimizer;
    optimizer_options.learning_rate = spec_.learning_rate;
    optimizer_options.clip_norm = spec_.clip_norm;
    optimizer_options.weight_decay = spec_.weight_decay;
    step_engine_ = MakeEngine(optimizer_options);
    if (step_engine_ == nullptr) {
      optimizer_ = MakeOptimizer(model_->parameters(), optimizer_options);
    }
    std::optional<Checkpoint> checkpoint;
    if (!spec_.resume.empty()) checkpoint = LoadCheckpoint(spec_.resume);
    data_ = std::make_unique<TrainData>(
        spec_, model_spec_, device_->device(),
        checkpoint.has_value() ? &checkpoint->meta : nullptr,
        [this] { TellProgress(0); });
    if (spec_.epochs > 0) spec_.steps = data_->StepsOf(spec_.epochs);
    if (spec_.world_size > 1) MakeSync(step_engine_ != nullptr);
    TrainerParts parts;
    parts.device = device_.get();
    parts.model = model_.get();
    parts.optimizer = optimizer_.get();
    parts.engine = step_engine_;
    parts.batches = data_->batches();
    parts.sync = sync_.get();
    parts.bucket_bytes = spec_.bucket_bytes;
    trainer_ = std::make_unique<Trainer>(parts, Options());
    if (checkpoint.has_value()) trainer_->Restore(*checkpoint);
    first_step_ = trainer_->step();
    schedule_ = ScheduleOf(spec_, first_step_,
                           checkpoint.has_value()
                               ? checkpoint->meta
                               : std::map<std::string, std::string>());
    if (RateChanges() && spec_.graphs && engine_ != "fused") {
      throw std::runtime_error("a CUDA graph of engine " + engine_ +
                               " keeps its learning rate; leave --graphs out");
    }
    if (spec_.validate_every > 0) {
      validator_ =
          std::make_unique<Validator>(spec_, model_spec_, data_->classes());
    }
  }

  bool RateChanges() const {
    return schedule_.kind != "constant" || schedule_.warmup > 0;
  }

  // Why the fused engine cannot train this; empty if it can.
  std::string FusedRefusal() const {
#if defined(FEEDRATE_CUDA)
    if (spec_.device != "cuda") return "it needs a GPU";
    if (spec_.precision != "bf16" && spec_.precision != "fp8") {
      return "it computes in bf16 and fp8 only";
    }
    if (spec_.stochastic_depth > 0) return "it has no stochastic depth";
    if (spec_.context > 0 && spec_.context < model_spec_.context) {
      return "it trains on whole contexts";
    }
    return FusedEngineRefusal(model_spec_, spec_.precision == "fp8");
#else
    return "this program was built without CUDA";
#endif
  }

  // The fused engine, which is the optimizer too, or null for autograd.
  StepEngine* MakeEngine(const OptimizerOptions& options) {
    if (!spec_.script.empty()) {
      engine_ = "script";
      return nullptr;
    }
    if (spec_.engine != "" && spec_.engine != "eager" &&
        spec_.engine != "fused") {
      throw std::runtime_error("engine \"" + spec_.engine +
                               "\" is unknown; use eager or fused");
    }
    const std::string refusal = FusedRefusal();
    // No other engine has FP8.
    if ((spec_.engine == "fused" || spec_.precision == "fp8") &&
        !refusal.empty()) {
      throw std::runtime_error("engine fused cannot train this: " + refusal);
    }
    engine_ = spec_.engine != "eager" && refusal.empty() ? "fused" : "eager";
#if defined(FEEDRATE_CUDA)
    if (engine_ == "fused") {
      auto engine = std::make_unique<FusedEngine>(
          model_spec_, model_->parameters(), options, spec_.batch_size,
          spec_.activation_checkpointing, spec_.precision == "fp8");
      StepEngine* const step = engine.get();
      method_ = engine->Method();
      optimizer_ = std::move(engine);
      return step;
    }
#endif
    return nullptr;
  }

  TrainerOptions Options() const {
    TrainerOptions options;
    options.precision = spec_.precision;
    options.accumulation = spec_.accumulation;
    options.optimizer_in_step = spec_.optimizer_in_step;
    options.graphs = spec_.graphs;
    options.mixing.kind = spec_.mixing;
    options.mixing.classes = model_spec_.classes;
    options.mixing.seed = spec_.seed;
    options.mixing.label_smoothing = spec_.label_smoothing;
    options.depth = {spec_.stochastic_depth, static_cast<uint64_t>(spec_.seed),
                     spec_.rank, spec_.world_size};
    options.ema_decay = spec_.ema_decay;
    return options;
  }

  // Evaluates the model, unless this was just done. The measured steps do not
  // include its time, memory, energy and use of the GPU.
  void Validate() {
    if (!validations_.empty() &&
        validations_.back().step() == trainer_->step()) {
      return;
    }
    device_->Synchronize();
    NotePeaks();
    const double start = MonotonicSeconds();
    if (energy_of_work_ != nullptr) energy_of_work_->Pause();
    if (use_ != nullptr) use_->Pause(true);
    const auto run = [this] {
      return validator_->Run(*trainer_, device_->device(), sync_.get(), [this] {
        TellProgress(spec_.warmup + spec_.steps);
      });
    };
    validations_.push_back(run());
    if (spec_.ema_decay > 0) {
      trainer_->SwapAverages();
      const Validation averaged = run();
      trainer_->SwapAverages();
      validations_.back().set_ema_loss(averaged.loss());
      validations_.back().set_ema_top1(averaged.top1());
      validations_.back().set_ema_top5(averaged.top5());
    }
    CheckFinite(validations_.back().loss(), "the loss of the validation",
                trainer_->step());
    device_->ResetPeaks();
    if (use_ != nullptr) use_->Pause(false);
    if (energy_of_work_ != nullptr) energy_of_work_->Resume();
    paused_s_ += MonotonicSeconds() - start;
  }

  void MakeSync(bool engine) {
    GroupOptions group;
    group.store = spec_.store;
    group.rank = spec_.rank;
    group.world_size = spec_.world_size;
    group.collectives = spec_.collectives;
    if (group.collectives.empty()) {
      group.collectives = spec_.device == "cuda" ? "nccl" : "gloo";
    }
    group.timeout_s = spec_.timeout_s;
    if (engine) {
      sync_ = std::make_unique<GradientSync>(JoinGroup(group));
    } else {
      sync_ = std::make_unique<GradientSync>(
          JoinGroup(group), model_->parameters(), spec_.bucket_bytes);
    }
  }

  void Step(int64_t total) {
    if (trainer_->step() == spec_.die_at_step) raise(SIGKILL);
    rate_ = LearningRateAt(schedule_, trainer_->step());
    if (RateChanges()) optimizer_->SetLearningRate(rate_);
    trainer_->Step();
    ++done_;
    TellProgress(total);
    const bool saves = spec_.checkpoint_every > 0 &&
                       trainer_->step() % spec_.checkpoint_every == 0;
    const bool validates = spec_.validate_every > 0 &&
                           trainer_->step() % spec_.validate_every == 0;
    // What has diverged must not replace a good checkpoint.
    if (saves || validates) TakeLearning();
    if (saves) Save();
    if (validates) Validate();
  }

  // Keeps losses and gradient norms of the steps since the last call. Diverged
  // names the first step that has one that is not finite: whatever follows is
  // worth nothing. In fp16, a gradient that is not finite only skips a step.
  void TakeLearning() {
    const std::vector<double> losses = trainer_->TakeLosses();
    const std::vector<double> norms = trainer_->TakeGradientNorms();
    const int64_t before =
        trainer_->step() - static_cast<int64_t>(losses.size());
    for (size_t i = 0; i < losses.size(); ++i) {
      CheckFinite(losses[i], "the loss", before + i + 1);
      if (!IsScaled()) {
        CheckFinite(norms[i], "the gradient norm", before + i + 1);
      }
      losses_.push_back(losses[i]);
      if (std::isfinite(norms[i])) norms_.push_back(norms[i]);
    }
  }

  // At most once per second.
  void TellProgress(int64_t total) {
    const double now = MonotonicSeconds();
    if (now - told_ <= 1) return;
    told_ = now;
    TrainReply reply;
    reply.set_event("progress");
    reply.set_done(done_);
    reply.set_total(total);
    tell_(reply);
  }

  // All processes together; the first one writes.
  void Save() {
    if (spec_.checkpoint.empty()) return;
    const std::map<std::string, std::string> data = data_->Meta(sync_.get());
    if (spec_.rank != 0) return;
    Checkpoint checkpoint = trainer_->Save();
    if (spec_.checkpoint_weights_only) {
      checkpoint.tensors.resize(model_->parameters().size());
      for (auto& entry : checkpoint.tensors) {
        entry.second = entry.second.to(at::kBFloat16);
      }
    }
    checkpoint.meta.insert(data.begin(), data.end());
    if (schedule_.kind != "constant") {
      checkpoint.meta[kScheduleSteps] = std::to_string(schedule_.steps);
    }
    SaveCheckpoint(spec_.checkpoint, checkpoint);
  }

  void Export() const {
    std::map<std::string, std::string> about = MetaOfClasses(data_->classes());
    about["step"] = std::to_string(trainer_->step());
    for (const bool averaged : {false, true}) {
      const std::string& path =
          averaged ? spec_.export_ema : spec_.export_weights;
      if (path.empty()) continue;
      ExportWeights(path, model_spec_, trainer_->Weights(averaged), about);
    }
  }

  // After the measured steps, which profiling would disturb. Where nobody asks
  // for traces, one step tells which kernels are the longest.
  void Profile() {
    ProfileOptions options;
    options.rank = spec_.rank;
    options.cuda = spec_.device == "cuda";
    if (!spec_.profile.empty()) {
      options.kind = spec_.profile;
      options.prefix = spec_.profile_prefix;
      options.wait = spec_.profile_wait;
      options.warmup = spec_.profile_warmup;
      options.active = spec_.profile_active;
      options.repeat = spec_.profile_repeat;
    } else if (spec_.graphs || !spec_.count) {
      return;
    }
    try {
      RunProfile(options);
    } catch (const std::exception&) {
      // What nobody asked for must not spoil the row.
      if (!spec_.profile.empty()) throw;
    }
  }

  void RunProfile(const ProfileOptions& options) {
    TrainProfiler profiler(options);
    for (int64_t i = 0; i < profiler.steps(); ++i) {
      profiler.BeforeStep(i);
      trainer_->Step();
      TellProgress(spec_.warmup + spec_.steps);
    }
    device_->Synchronize();
    profiler.Finish();
    traces_ = profiler.files();
    kernels_ = profiler.TopKernels();
    profiled_steps_ = options.active * options.repeat;
  }

  void CountProducts() {
    // A replayed graph and the fused engine call nothing that could be counted.
    if (spec_.graphs || engine_ == "fused") return;
    const OpCounter counter;
    trainer_->Step();
    count_ = counter.Count();
  }

  void TellReady() {
    TrainReply reply;
    reply.set_event("ready");
    reply.set_version(TORCH_VERSION);
    reply.set_threads(at::get_num_threads());
    reply.set_parameters(Parameters());
    tell_(reply);
  }

  int64_t Parameters() const {
    if (spec_.script.empty()) return CountParameters(model_spec_);
    int64_t values = 0;
    for (const Parameter& parameter : model_->parameters()) {
      values += parameter.value.numel();
    }
    return values;
  }

  void TellResult() {
    TrainReply result;
    result.set_event("result");
    result.set_version(TORCH_VERSION);
    result.set_parameters(Parameters());
    // What is in a script is known by counting alone.
    if (!spec_.script.empty()) result.set_flops_per_step(count_.flops);
    result.set_wall_s(wall_s_);
    for (const StepTimes& step : times_) result.add_steps_s(step.step_s);
    for (int phase = 0; phase < kPhases; ++phase) {
      double sum = 0;
      for (const StepTimes& step : times_) sum += step.phase_s[phase];
      double mean = sum / times_.size() + graph_phases_.phase_s[phase];
      // A replay is one piece for the clock of the step.
      if (phase == kUnattributed) {
        mean = std::max(0.0, mean - graph_phases_.step_s);
      }
      (*result.mutable_phases())[PhaseName(phase)] = mean;
    }
    for (const double loss : losses_) result.add_losses(loss);
    for (const double norm : norms_) result.add_grad_norms(norm);
    result.set_last_learning_rate(rate_);
    result.set_memory_peak_bytes(peaks_.allocated_bytes);
    result.set_memory_reserved_bytes(peaks_.reserved_bytes);
    result.set_matmul_flops(rates_.matmul_flops);
    result.set_copy_bytes(rates_.copy_bytes);
    *result.mutable_matmul_types() = {count_.products_by_type.begin(),
                                      count_.products_by_type.end()};
    result.set_engine(engine_);
    result.set_method(method_);
    result.set_blas(BlasOfTorch());
    if (gpu_use_ >= 0) result.set_gpu_use(gpu_use_);
    const GpuPlace gpu = device_->gpu();
    if (!gpu.name.empty()) {
      result.set_gpu(gpu.name);
      result.set_gpu_memory_bytes(gpu.memory_bytes);
      result.set_allocations(allocations_);
      result.set_device_allocations(device_allocations_);
    }
    if (energy_.cpu_j) result.set_cpu_j(*energy_.cpu_j);
    if (energy_.gpu_j) result.set_gpu_j(*energy_.gpu_j);
    data_->Describe(&result);
    if (result.has_resumed()) result.mutable_resumed()->set_step(first_step_);
    if (objects_.has_value()) *result.mutable_objects() = *objects_;
    for (const KernelTime& from : kernels_) {
      StepKernel* const kernel = result.add_kernels();
      kernel->set_part(from.part);
      kernel->set_name(from.name);
      kernel->set_shapes(from.shapes);
      kernel->set_step_s(from.total_s / profiled_steps_);
      kernel->set_calls(static_cast<double>(from.calls) / profiled_steps_);
      kernel->set_share(from.share);
    }
    result.set_profiled_steps(profiled_steps_);
    if (IsScaled()) {
      result.set_skipped_steps(skipped_steps_);
      result.set_loss_scale(loss_scale_);
    }
    for (const Validation& validation : validations_) {
      *result.add_validations() = validation;
    }
    for (const std::string& file : traces_) result.add_traces(file);
    tell_(result);
  }

  TrainSpec spec_;
  const Tell tell_;
  ModelSpec model_spec_;
  std::unique_ptr<TrainDevice> device_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  // The optimizer, if that is an engine.
  StepEngine* step_engine_ = nullptr;
  std::unique_ptr<TrainData> data_;
  std::unique_ptr<GradientSync> sync_;
  std::unique_ptr<Trainer> trainer_;

  std::string engine_;
  // What computes the step of the fused engine.
  std::string method_;
  double gpu_use_ = -1;
  EnergyUse energy_;
  // While steps are measured.
  std::unique_ptr<GpuUse> use_;
  std::unique_ptr<EnergyOfWork> energy_of_work_;
  int64_t allocations_ = 0;
  int64_t device_allocations_ = 0;
  // What the store did during the measured steps.
  std::optional<StorageCounts> objects_;
  std::vector<Validation> validations_;
  std::unique_ptr<Validator> validator_;
  int64_t skipped_steps_ = 0;
  double loss_scale_ = 0;
  // Time between measured steps that belongs to none.
  double paused_s_ = 0;
  int64_t done_ = 0;
  LearningRateSchedule schedule_;
  // The learning rate that the last step had.
  double rate_ = 0;
  // Steps of the checkpoint that this continues.
  int64_t first_step_ = 0;
  double told_ = 0;
  double wall_s_ = 0;
  std::vector<StepTimes> times_;
  StepTimes graph_phases_;
  std::vector<double> losses_;
  std::vector<double> norms_;
  MemoryPeaks peaks_;
  OpCount count_;
  DeviceRates rates_;
  std::vector<std::string> traces_;
  std::vector<KernelTime> kernels_;
  int profiled_steps_ = 0;
};

}  // namespace

void RunTraining(const TrainSpec& spec, const Tell& tell) {
  Training(spec, tell).Run();
}

}  // namespace feedrate
