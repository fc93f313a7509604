#include "lib/model/worker/train_run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>

#include "lib/adapters/torch/blas.h"
#include "lib/loader/source/remote_source.h"
#include "lib/loader/source/source.h"
#include "lib/machine/energy.h"
#include "lib/machine/gpu.h"
#include "lib/model/flops.h"
#include "lib/model/torch/batches.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/device.h"
#include "lib/model/torch/distributed.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/profiler.h"
#include "lib/model/torch/script_model.h"
#include "lib/model/torch/trainer.h"
#include "lib/model/worker/fed_batches.h"
#include "lib/model/worker/image_data.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/loader_batches.h"
#include "lib/model/worker/validation.h"

#if defined(FEEDRATE_CUDA)
#include "lib/model/fused/engine.h"
#endif

namespace feedrate {
namespace {

// Batches of the synthetic set: enough that no batch comes twice in a row, few
// enough that the loss falls over a few hundred steps.
constexpr int64_t kSyntheticBatches = 4;
// The largest number of skipped files to name.
constexpr size_t kMostListed = 20;

// JSON has no number for others.
double Finite(double value) { return std::isfinite(value) ? value : 0; }

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
    trainer_->TakeLosses();
    trainer_->TakeGradientNorms();
    if (IsScaled()) trainer_->TakeSkippedSteps();
    std::unique_ptr<GpuUse> use;
    if (spec_.device == "cuda") {
      use = std::make_unique<GpuUse>(spec_.device_index);
    }
    paused_s_ = 0;
    std::optional<StorageCounts> objects;
    if (source_ != nullptr) objects = StorageOf(*source_);
    EnergyMeter energy(Root(), OpenGpuEnergy());
    const EnergyUse before = energy.Read();
    const double start = MonotonicSeconds();
    for (int64_t i = 0; i < spec_.steps; ++i) Step(spec_.warmup + spec_.steps);
    device_->Synchronize();
    wall_s_ = MonotonicSeconds() - start - paused_s_;
    energy_ = EnergyBetween(before, energy.Read());
    if (objects.has_value()) objects_ = StorageSince(*objects, *source_);
    if (use != nullptr) gpu_use_ = use->Stop();
    times_ = trainer_->TakeTimes();
    losses_ = trainer_->TakeLosses();
    norms_ = trainer_->TakeGradientNorms();
    if (IsScaled()) {
      skipped_steps_ = trainer_->TakeSkippedSteps();
      loss_scale_ = trainer_->loss_scale();
    }
    NotePeaks();
    if (spec_.validate_every > 0) Validate();
    if (spec_.rank == 0) SaveTo(spec_.checkpoint);
    if (spec_.graphs) graph_phases_ = trainer_->GraphPhases();
    if (spec_.count) CountProducts();
    Profile();
    if (spec_.rates) rates_ = Rates();
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
  std::unique_ptr<GpuEnergy> OpenGpuEnergy() const {
    if (spec_.device != "cuda") return nullptr;
    auto opened = GpuEnergy::Open(NvmlLibraries(), spec_.device_index);
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

  DeviceRates Rates() const {
    const bool is_half = spec_.precision == "bf16" || IsScaled();
    at::ScalarType type = is_half ? at::kBFloat16 : at::kFloat;
    if (IsScaled()) type = at::kHalf;
    DeviceRates rates = MeasureRates(device_.get(), type);
    if (is_half && spec_.device == "cpu") {
      // A CPU without units for this type is slower in it than in fp32, but its
      // peak is not lower for that.
      rates.matmul_flops =
          std::max(rates.matmul_flops,
                   MeasureRates(device_.get(), at::kFloat).matmul_flops);
    }
    return rates;
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
    OptimizerOptions optimizer_options;
    optimizer_options.name = spec_.optimizer;
    optimizer_options.learning_rate = spec_.learning_rate;
    optimizer_options.clip_norm = spec_.clip_norm;
    StepEngine* const engine = MakeEngine(optimizer_options);
    if (engine == nullptr) {
      optimizer_ = MakeOptimizer(model_->parameters(), optimizer_options);
    }
    if (!spec_.loader.empty()) {
      batches_ = FromFolder();
    } else {
      batches_ = spec_.text.empty() ? Synthetic() : FromText();
    }
    if (spec_.world_size > 1) MakeSync(engine != nullptr);
    TrainerParts parts;
    parts.device = device_.get();
    parts.model = model_.get();
    parts.optimizer = optimizer_.get();
    parts.engine = engine;
    parts.batches = batches_.get();
    parts.sync = sync_.get();
    parts.bucket_bytes = spec_.bucket_bytes;
    trainer_ = std::make_unique<Trainer>(parts, Options());
    if (!spec_.resume.empty()) trainer_->Restore(LoadCheckpoint(spec_.resume));
    if (spec_.validate_every > 0) {
      validator_ =
          std::make_unique<Validator>(spec_, model_spec_, class_names_);
    }
  }

  // Why the fused engine cannot train this; empty if it can.
  std::string FusedRefusal() const {
#if defined(FEEDRATE_CUDA)
    if (spec_.device != "cuda") return "it needs a GPU";
    if (spec_.precision != "bf16") return "it computes in bf16 only";
    if (spec_.context > 0 && spec_.context < model_spec_.context) {
      return "it trains on whole contexts";
    }
    return FusedEngineRefusal(model_spec_);
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
    if (spec_.engine == "fused" && !refusal.empty()) {
      throw std::runtime_error("engine fused cannot train this: " + refusal);
    }
    engine_ = spec_.engine != "eager" && refusal.empty() ? "fused" : "eager";
#if defined(FEEDRATE_CUDA)
    if (engine_ == "fused") {
      auto engine = std::make_unique<FusedEngine>(
          model_spec_, model_->parameters(), options, spec_.batch_size,
          spec_.activation_checkpointing);
      StepEngine* const step = engine.get();
      method_ = engine->Method();
      optimizer_ = std::move(engine);
      return step;
    }
#endif
    return nullptr;
  }

  std::unique_ptr<BatchSource> Synthetic() const {
    SyntheticOptions synthetic;
    synthetic.batch_size = spec_.batch_size;
    synthetic.samples =
        spec_.samples > 0
            ? spec_.samples
            : kSyntheticBatches * spec_.batch_size * spec_.world_size;
    synthetic.seed = spec_.seed;
    synthetic.device = device_->device();
    synthetic.rank = spec_.rank;
    synthetic.world_size = spec_.world_size;
    return MakeSyntheticBatches(model_spec_, synthetic);
  }

  std::unique_ptr<BatchSource> FromFolder() {
    if (model_spec_.kind != ModelKind::kVit) {
      throw std::runtime_error("images do not feed " + model_spec_.name);
    }
    if (spec_.loader == "mixture") return FromMixture();
    ImageData data = ListData();
    NoteFiles(data.files, data.local);
    if (spec_.epochs > 0) {
      spec_.steps = std::max<int64_t>(
          1, spec_.epochs * (files_ / spec_.batch_size) / spec_.accumulation);
    }
    if (spec_.loader == "native" || spec_.loader == "cuda") {
      return FromOurs(std::move(data));
    }
    return FromFeeder(data.files);
  }

  // `local` are the files on this machine that have the images.
  void NoteFiles(const std::vector<ImageFile>& files,
                 const std::vector<ImageFile>& local) {
    if (spec_.objects.empty()) {
      storage_ = PrepareStorage(
          spec_.folder, local, spec_.cold, [this] { TellProgress(0); },
          &resident_);
    } else {
      storage_ = spec_.folder.substr(0, spec_.folder.find(':'));
    }
    files_ = files.size();
    for (const ImageFile& file : files) {
      bytes_of_.push_back(file.bytes);
      file_bytes_ += file.bytes;
    }
  }

  std::unique_ptr<BatchSource> FromMixture() {
    MixtureBatchOptions options;
    options.folder = spec_.folder;
    options.settings = spec_.mixture;
    options.batch_size = spec_.batch_size;
    options.image_size = model_spec_.image_size;
    options.classes = model_spec_.classes;
    // Processes that train together get different samples of the same mixture.
    options.seed = spec_.seed * spec_.world_size + spec_.rank;
    MixtureFeed feed = MakeMixtureBatches(options);
    NoteFiles(feed.shards, feed.shards);
    return std::move(feed.batches);
  }

  ImageData ListData() {
    ImageFolder folder;
    folder.path = spec_.folder;
    folder.sample_ratio = spec_.sample_ratio;
    folder.classes = model_spec_.classes;
    folder.rank = spec_.rank;
    folder.world_size = spec_.world_size;
    // A store may have millions of objects.
    auto listing = std::async(std::launch::async, [this, &folder] {
      return OpenImageData(folder, spec_.objects);
    });
    while (listing.wait_for(std::chrono::seconds(1)) !=
           std::future_status::ready) {
      TellProgress(0);
    }
    ImageData data = LoaderValue(listing.get());
    class_names_ = data.classes;
    if (spec_.rank == 0) {
      listed_.total = static_cast<int64_t>(data.special.size());
      data.special.resize(std::min(data.special.size(), kMostListed));
      for (const std::string& path : data.special) {
        listed_.first.push_back({-1, path, "is no regular file"});
      }
    }
    if (static_cast<int64_t>(data.files.size()) < spec_.batch_size) {
      throw std::runtime_error(
          spec_.folder + ": has " + std::to_string(data.files.size()) +
          " images for a batch of " + std::to_string(spec_.batch_size));
    }
    return data;
  }

  std::unique_ptr<BatchSource> FromOurs(ImageData data) {
    LoaderBatchOptions options;
    options.batch_size = spec_.batch_size;
    options.image_size = model_spec_.image_size;
    options.workers = spec_.workers;
    options.seed = spec_.seed;
    options.to_gpu = spec_.device == "cuda";
    source_ = data.source.get();
    return spec_.loader == "cuda"
               ? MakeGpuBatches(data.files, std::move(data.source), options)
               : MakeLoaderBatches(data.files, std::move(data.source), options);
  }

  std::unique_ptr<BatchSource> FromFeeder(
      const std::vector<ImageFile>& files) const {
    if (spec_.feeder.empty() || spec_.feeder_script.empty()) {
      throw std::runtime_error("loader \"" + spec_.loader +
                               "\" is a process of its own; name it with "
                               "feeder and feeder_script");
    }
    FeederOptions options;
    options.command = {spec_.feeder, spec_.feeder_script};
    options.loader = spec_.loader;
    options.batch_size = spec_.batch_size;
    options.image_size = model_spec_.image_size;
    options.workers = spec_.workers;
    options.seed = spec_.seed;
    options.to_gpu = spec_.device == "cuda";
    options.on_gpu = spec_.loader == "dali_gpu";
    return MakeFedBatches(files, options);
  }

  std::unique_ptr<BatchSource> FromText() const {
    if (model_spec_.kind != ModelKind::kByteLm) {
      throw std::runtime_error("text is for byte language models");
    }
    TextOptions text;
    text.file = spec_.text;
    text.batch_size = spec_.batch_size;
    text.context = spec_.context > 0
                       ? std::min(spec_.context, model_spec_.context)
                       : model_spec_.context;
    // Each process reads different parts.
    text.seed = spec_.seed + 7919 * spec_.rank;
    return MakeTextBatches(text);
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
    return options;
  }

  // Evaluates the model, unless this was just done. The time is no part of the
  // measured steps, nor is the memory.
  void Validate() {
    if (!validations_.empty() &&
        validations_.back().step() == trainer_->step()) {
      return;
    }
    device_->Synchronize();
    NotePeaks();
    const double start = MonotonicSeconds();
    validations_.push_back(
        validator_->Run(*trainer_, device_->device(), sync_.get(),
                        [this] { TellProgress(spec_.warmup + spec_.steps); }));
    device_->ResetPeaks();
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
    if (spec_.schedule == "linear") {
      optimizer_->SetLearningRate(spec_.learning_rate *
                                  (1 - static_cast<double>(done_) / total));
    }
    trainer_->Step();
    ++done_;
    TellProgress(total);
    if (spec_.rank == 0 && spec_.checkpoint_every > 0 &&
        trainer_->step() % spec_.checkpoint_every == 0) {
      SaveTo(spec_.checkpoint);
    }
    if (spec_.validate_every > 0 &&
        trainer_->step() % spec_.validate_every == 0) {
      Validate();
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

  void SaveTo(const std::string& path) {
    if (path.empty()) return;
    Checkpoint checkpoint = trainer_->Save();
    if (spec_.checkpoint_weights_only) {
      checkpoint.tensors.resize(model_->parameters().size());
      for (auto& entry : checkpoint.tensors) {
        entry.second = entry.second.to(at::kBFloat16);
      }
    }
    checkpoint.meta.merge(MetaOfClasses(class_names_));
    SaveCheckpoint(path, checkpoint);
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

  // Files that could not be used are not data. In a mixture, episodes are left
  // out, and its files are shards.
  void LeaveOut(const SkippedFiles& skipped) {
    if (spec_.loader == "mixture") return;
    files_ -= skipped.total;
    for (const SkippedFiles::File& file : skipped.first) {
      file_bytes_ -= bytes_of_[file.item];
    }
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
    for (const double loss : losses_) result.add_losses(Finite(loss));
    for (const double norm : norms_) result.add_grad_norms(Finite(norm));
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
    if (energy_.cpu_j) result.set_cpu_j(*energy_.cpu_j);
    if (energy_.gpu_j) result.set_gpu_j(*energy_.gpu_j);
    SkippedFiles skipped = batches_->skipped();
    LeaveOut(skipped);
    result.set_storage(storage_);
    result.set_files(files_);
    result.set_file_bytes(file_bytes_);
    if (resident_ >= 0) result.set_resident(resident_);
    if (objects_.has_value()) *result.mutable_objects() = *objects_;
    // These were never counted as data.
    skipped.first.insert(skipped.first.end(), listed_.first.begin(),
                         listed_.first.end());
    result.set_skipped_files(skipped.total + listed_.total);
    for (const SkippedFiles::File& from : skipped.first) {
      SkippedItem* const file = result.add_skipped();
      if (from.item >= 0) file->set_item(from.item);
      file->set_path(from.path);
      file->set_reason(from.reason);
    }
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
  std::unique_ptr<BatchSource> batches_;
  std::unique_ptr<GradientSync> sync_;
  std::unique_ptr<Trainer> trainer_;

  std::string engine_;
  // What computes the step of the fused engine.
  std::string method_;
  double gpu_use_ = -1;
  EnergyUse energy_;
  std::string storage_;
  int64_t files_ = 0;
  int64_t file_bytes_ = 0;
  std::vector<int64_t> bytes_of_;  // Each of the files.
  // What `batches_` reads. Null for other libraries' loaders.
  const Source* source_ = nullptr;
  // What its store did during the measured steps.
  std::optional<StorageCounts> objects_;
  double resident_ = -1;
  // What is no data although its name says so. Of all processes together, so
  // the first one tells.
  SkippedFiles listed_;
  // Folders of the classes by number. Empty if the data has none.
  std::vector<std::string> class_names_;
  std::vector<Validation> validations_;
  std::unique_ptr<Validator> validator_;
  int64_t skipped_steps_ = 0;
  double loss_scale_ = 0;
  // Time between measured steps that belongs to none.
  double paused_s_ = 0;
  int64_t done_ = 0;
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
