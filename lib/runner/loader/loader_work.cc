#include "lib/runner/loader/loader_work.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/gpu.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/media/parallel.h"
#include "lib/ops/params.h"
#include "lib/records/fields.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/measured_process.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/runner/loader/loader_audit.h"
#include "lib/runner/loader/loader_job.h"
#include "lib/runner/loader/loader_limits.h"
#include "lib/runner/loader/loader_row.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Items differ in size, so the first batch predicts the others badly.
constexpr double kHangFactor = 10;
// How long a loader runs that is only compared with; for --diagnose how often.
constexpr double kTrialS = 2;
constexpr int kDiagnoseRounds = 5;
constexpr double kDiagnoseS = 1;
// How long the limits of the device are measured, in seconds.
constexpr double kLimitS = 0.6;
// Memory of a loader besides its batches.
constexpr int64_t kLoaderBytes = int64_t{512} << 20;

class LoaderWork : public JobWork {
 public:
  // All outlive this object.
  LoaderWork(const RunContext& context, const Job& job, const JobPolicy& policy,
             const LoaderWorkOptions& options, LoaderInputs* inputs,
             LoaderLimits* limits)
      : context_(context),
        job_(job),
        policy_(policy),
        options_(options),
        inputs_(inputs),
        limits_(limits) {}

  absl::StatusOr<int64_t> ExpectedMemory() override;
  absl::Status Prepare() override;
  absl::StatusOr<Preflight> LookAhead() override;
  absl::StatusOr<Equivalence> CheckEquivalence() override;
  // Runs one batch of a fresh loader. Also measures a single worker, and with
  // `diagnose` epochs with parts left out, alternately.
  absl::Status WarmUp() override;
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "batch"; }

 private:
  absl::Status GetInput();
  absl::StatusOr<std::unique_ptr<MeasuredChild>> Spawn(
      const LoaderSpec& spec, PrepareReply* reply) const;
  absl::StatusOr<EpochReply> Epoch(MeasuredChild* child, int64_t count,
                                   uint64_t seed, double limit_s,
                                   double consumer_s) const;
  // Runs an epoch of at most `seconds` of a loader with another spec.
  absl::StatusOr<EpochReply> TryOther(const LoaderSpec& spec,
                                      double seconds = kTrialS) const;
  absl::Status CompareWithOneWorker();
  absl::Status CompareWithOneConnection();
  absl::Status TryAblations();
  // Measures the time from asking for one item to having it, for jobs with a
  // container. A loader that begins only at the start of its data has none.
  absl::Status TryRandomItems();
  // Measures the limits of the GPU, for our own loaders.
  absl::Status MeasureDevice();
  absl::StatusOr<DeviceLimits> AskForDeviceLimits() const;
  // Runs epochs until the job's minima are reached. Adds what was read.
  absl::StatusOr<std::vector<EpochReply>> RunEpochs(uint64_t seed, Cache* cache,
                                                    ReadBytes* read);
  // Seconds until half of an epoch is done, approximately.
  double HalfOfEpoch() const;
  void AddLimit(Row* row) const;
  // The library's `engine_decode` on a GPU. Empty means that none decodes.
  std::string EngineDecode() const;
  double EngineItemsPerSecond() const;
  // Set if the transform is itself a crop that resizes.
  std::optional<WindowShape> OwnWindowShape() const;
  std::optional<Limit> LimitOfLoader(double reached) const;
  double BytesOfFile() const;
  void AddComparisons(const std::vector<EpochReply>& epochs, Row* row) const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  const LoaderWorkOptions& options_;
  LoaderInputs* const inputs_;
  LoaderLimits* const limits_;
  LoaderInputs::Input input_;
  LoaderSpec spec_;
  EpochPolicy epochs_;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
  // Measured in the warm-up, including start and end.
  double per_item_s_ = 0;
  // Items per second that engines of the device decode alone; 0 if they do not.
  double engine_items_per_s_ = 0;
  // Items per second of one worker while it ran.
  std::optional<double> one_worker_;
  // Speed of one connection to the store.
  std::optional<double> one_connection_mb_per_s_;
  std::vector<LoaderTrials> trials_;
  bool asked_for_limits_ = false;
  bool tried_random_items_ = false;
  std::optional<double> random_item_s_;
  std::optional<DeviceLimits> device_limits_;
};

absl::Status LoaderWork::GetInput() {
  const TimeAccount::Entry entry(context_.account, Spending::kMedia);
  ASSIGN_OR_RETURN(input_, inputs_->Get(job_));
  dataset_ = input_.dataset;
  ASSIGN_OR_RETURN(spec_, LoaderSpecOfInput(context_.catalogue, job_, input_));
  spec_.set_on_error(options_.on_error);
  ASSIGN_OR_RETURN(epochs_, EpochPolicyOfJob(job_));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LoaderWork::ExpectedMemory() {
  RETURN_IF_ERROR(GetInput());
  const int64_t batch_bytes = spec_.batch_size() * spec_.channels() *
                              spec_.crop() * spec_.crop() * int64_t{4};
  const int64_t batches =
      int64_t{1} + std::max(spec_.workers(), 1) * spec_.prefetch();
  // Between its epochs a loader has released most of its memory.
  return kLoaderBytes + (spec_.persistent() ? batches : 1) * batch_bytes;
}

absl::StatusOr<std::unique_ptr<MeasuredChild>> LoaderWork::Spawn(
    const LoaderSpec& spec, PrepareReply* reply) const {
  return SpawnLoader(context_, job_, spec, input_.fd, reply);
}

absl::Status LoaderWork::Prepare() {
  RETURN_IF_ERROR(GetInput());
  PrepareReply reply;
  ASSIGN_OR_RETURN(child_, Spawn(spec_, &reply));
  version_ = reply.version();
  engine_items_per_s_ = reply.engine_items_per_s();
  context_.engines->Note(input_.fd, spec_.workers(), engine_items_per_s_);
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s(),
                                            EnergyOf(context_, job_));
  return absl::OkStatus();
}

absl::StatusOr<EpochReply> LoaderWork::Epoch(MeasuredChild* child,
                                             int64_t count, uint64_t seed,
                                             double limit_s,
                                             double consumer_s) const {
  EpochCommand command;
  command.set_seed(seed);
  command.set_count(count);
  command.set_limit_s(limit_s);
  command.set_consumer_s(consumer_s);
  const int64_t batches = count / spec_.batch_size() + 1;
  const double hang_s =
      policy_.warm_up.hang_s + limit_s +
      kHangFactor * (per_item_s_ * count + consumer_s * batches);
  return child->Epoch(command, spec_.batch_size(), absl::Seconds(hang_s));
}

absl::StatusOr<Preflight> LoaderWork::LookAhead() {
  PreflightPolicy policy = policy_.preflight;
  // The distance of a store or server does not count against the transform.
  if (input_.source != "corpus" && input_.paths == nullptr) {
    policy.slow_skip = false;
  }
  return PreflightOfLoader(
      policy, spec_, input_.items, [this](int64_t count, double limit_s) {
        return Epoch(child_.get(), count, SeedOfRun(job_, 0), limit_s,
                     /*consumer_s=*/0);
      });
}

absl::StatusOr<Equivalence> LoaderWork::CheckEquivalence() {
  ComparedItems items;
  items.count = input_.items;
  // Only the first clips of files are decoded to compare with.
  if (input_.decoded.original != nullptr) {
    items.count = std::min(items.count, input_.decoded.original->size());
  }
  items.recipe = &spec_;
  items.sha256 = input_.dataset.sha256();
  if (input_.files != nullptr && input_.files->source != "shards") {
    const int64_t count = std::min<int64_t>(
        context_.catalogue.policy().measuring().compared_items(), items.count);
    ASSIGN_OR_RETURN(items.sha256, HashOfFirst(input_, count));
  }
  items.item = [this](int64_t i, int frame) {
    return DecodedItem(input_, i, frame, spec_.channels());
  };
  if (input_.files != nullptr && input_.files->source != "shards") {
    items.name = [this](int64_t i) { return input_.files->files[i].path; };
  }
  if (spec_.on_error() == "skip") {
    items.skip = [this](const std::string& reason) {
      context_.warn(absl::StrCat(job_.library(), ", ", job_.transform(),
                                 ": not compared: ", reason));
    };
  }
  return context_.equivalence->Check(job_, version_, items,
                                     absl::Seconds(policy_.warm_up.hang_s),
                                     child_.get());
}

absl::StatusOr<EpochReply> LoaderWork::TryOther(const LoaderSpec& spec,
                                                double seconds) const {
  PrepareReply reply;
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> child,
                   Spawn(spec, &reply));
  // The first epoch of a process is its warm-up.
  RETURN_IF_ERROR(Epoch(child.get(), std::min(input_.items, spec_.batch_size()),
                        SeedOfRun(job_, 0), seconds, 0)
                      .status());
  return Epoch(child.get(), input_.items, SeedOfRun(job_, 0), seconds, 0);
}

absl::Status LoaderWork::CompareWithOneWorker() {
  LoaderSpec spec = spec_;
  spec.set_workers(1);
  const absl::StatusOr<EpochReply> epoch = TryOther(spec);
  // A subject may have a number of workers of its own.
  if (IsSubject(job_.library()) && absl::IsUnknown(epoch.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(epoch.status());
  const double throughput = RunningThroughput(*epoch);
  if (throughput > 0) one_worker_ = throughput;
  return absl::OkStatus();
}

absl::Status LoaderWork::CompareWithOneConnection() {
  LoaderSpec spec = spec_;
  (*spec.mutable_settings())["connections"] = "1";
  // A cache would hide the speed of the connection.
  (*spec.mutable_store())["cache_folder"] = "";
  ASSIGN_OR_RETURN(EpochReply epoch, TryOther(spec));
  one_connection_mb_per_s_ = DownloadMbPerS({std::move(epoch)});
  return absl::OkStatus();
}

absl::Status LoaderWork::TryAblations() {
  for (const char* name : {kFullEpoch, kCachedBatch, "no_augment"}) {
    trials_.emplace_back().name = name;
  }
  if (input_.source != "corpus") trials_.emplace_back().name = "no_decode";
  // One of each per round, so that drift affects all of them equally.
  for (int round = 0; round < kDiagnoseRounds; ++round) {
    for (LoaderTrials& trial : trials_) {
      // This loader cannot leave the part out.
      if (round > 0 && trial.throughputs.empty()) continue;
      LoaderSpec spec = spec_;
      if (trial.name != kFullEpoch) spec.set_ablation(trial.name);
      const absl::StatusOr<EpochReply> epoch = TryOther(spec, kDiagnoseS);
      if (absl::IsUnknown(epoch.status())) {
        trial.throughputs.clear();
        continue;
      }
      RETURN_IF_ERROR(epoch.status());
      trial.throughputs.push_back(RunningThroughput(*epoch));
    }
  }
  return absl::OkStatus();
}

absl::Status LoaderWork::TryRandomItems() {
  tried_random_items_ = true;
  LoaderSpec spec = spec_;
  spec.set_workers(0);
  spec.set_prefetch(1);
  spec.set_persistent(false);
  spec.set_batch_size(1);
  PrepareReply reply;
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> child,
                   Spawn(spec, &reply));
  const absl::StatusOr<double> seconds = RandomItemSeconds(
      input_.items, SeedOfRun(job_, 0), [&](const EpochCommand& command) {
        return child->Epoch(command, spec.batch_size(),
                            absl::Seconds(policy_.warm_up.hang_s));
      });
  if (absl::IsUnknown(seconds.status())) {
    context_.warn(
        absl::StrCat(job_.library(), " on ", ContainerOf(job_),
                     ": no random access: ", seconds.status().message()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(random_item_s_, seconds);
  return absl::OkStatus();
}

absl::StatusOr<DeviceLimits> LoaderWork::AskForDeviceLimits() const {
  LoaderSpec spec = spec_;
  spec.set_ablation(kDeviceLimits);
  PrepareReply reply;
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> child,
                   Spawn(spec, &reply));
  ASSIGN_OR_RETURN(const EpochReply epoch,
                   Epoch(child.get(), 1, SeedOfRun(job_, 0), kLimitS, 0));
  if (epoch.has_device_limits()) return epoch.device_limits();
  return absl::UnknownError("was asked for its device's limits and told none");
}

absl::Status LoaderWork::MeasureDevice() {
  const Library* const library = context_.catalogue.FindLibrary(job_.library());
  if (job_.device() != "cuda" || library == nullptr || asked_for_limits_) {
    return absl::OkStatus();
  }
  const auto& scopes = library->device_limit_scopes();
  if (std::find(scopes.begin(), scopes.end(), spec_.scope()) == scopes.end()) {
    return absl::OkStatus();
  }
  asked_for_limits_ = true;
  std::string key = absl::StrCat(job_.library(), " ", input_.fd);
  for (const char* name : {"nvjpeg", "nvjpeg_threads"}) {
    const auto setting = spec_.settings().find(name);
    if (setting == spec_.settings().end()) continue;
    absl::StrAppend(&key, " ", name, "=", setting->second);
  }
  ASSIGN_OR_RETURN(device_limits_,
                   limits_->OfDeviceOrWarn(key, job_, context_.warn, [this] {
                     return AskForDeviceLimits();
                   }));
  return absl::OkStatus();
}

absl::Status LoaderWork::WarmUp() {
  const int64_t count = std::min(input_.items, spec_.batch_size());
  ASSIGN_OR_RETURN(const EpochReply epoch,
                   Epoch(child_.get(), count, SeedOfRun(job_, 0), 0, 0));
  per_item_s_ = epoch.elapsed_s() /
                static_cast<double>(std::max<int64_t>(epoch.items(), 1));
  if (IsNullJob(job_)) return absl::OkStatus();
  RETURN_IF_ERROR(MeasureDevice());
  if (options_.worker_efficiency && spec_.workers() > 1 &&
      !one_worker_.has_value()) {
    RETURN_IF_ERROR(CompareWithOneWorker());
  }
  if (options_.connection_efficiency && ConnectionsOf(spec_) > 1 &&
      !one_connection_mb_per_s_.has_value()) {
    RETURN_IF_ERROR(CompareWithOneConnection());
  }
  if (options_.diagnose && trials_.empty()) {
    RETURN_IF_ERROR(TryAblations());
  }
  if (!ContainerOf(job_).empty() && !tried_random_items_) {
    RETURN_IF_ERROR(TryRandomItems());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EpochReply>> LoaderWork::RunEpochs(uint64_t seed,
                                                              Cache* cache,
                                                              ReadBytes* read) {
  std::vector<EpochReply> epochs;
  double elapsed_s = 0;
  int64_t batches = 0;
  const pid_t pid = static_cast<pid_t>(child_->pid());
  // Not once per epoch: those of a few microseconds would wait for it.
  const std::optional<ReadBytes> before = TreeReadBytes(Root(), pid);
  while (epochs.empty() || elapsed_s < epochs_.min_time_s ||
         batches < epochs_.min_batches) {
    if (input_.paths != nullptr) {
      RETURN_IF_ERROR(LookAtPages(*input_.paths, options_.cold, cache));
    }
    {
      const TimeAccount::Entry entry(context_.account, Spending::kTimed);
      ASSIGN_OR_RETURN(epochs.emplace_back(),
                       Epoch(child_.get(), input_.items, seed + epochs.size(),
                             0, options_.consumer_s));
    }
    const EpochReply& epoch = epochs.back();
    if (epoch.items() == 0) {
      return absl::UnknownError(absl::StrCat(
          "delivered no item of ", input_.items, "; ", epoch.errors_total(),
          " could not be used",
          epoch.errors().empty()
              ? ""
              : absl::StrCat(", the first: ", epoch.errors(0).path(), ": ",
                             epoch.errors(0).reason())));
    }
    elapsed_s += epoch.elapsed_s();
    batches += epoch.batches();
  }
  const std::optional<ReadBytes> after = TreeReadBytes(Root(), pid);
  if (before.has_value() && after.has_value()) {
    read->device += std::max<int64_t>(after->device - before->device, 0);
    read->calls += std::max<int64_t>(after->calls - before->calls, 0);
  }
  cache->set_bytes_read(read->device);
  return epochs;
}

double LoaderWork::HalfOfEpoch() const {
  // The warm-up was one batch by one worker.
  const int hands = std::clamp(spec_.workers(), 1, UsableProcessors());
  return per_item_s_ * static_cast<double>(input_.items) / hands / 2;
}

std::optional<WindowShape> LoaderWork::OwnWindowShape() const {
  if (!spec_.is_crop()) return std::nullopt;
  const auto command = PrepareCommandOfJob(context_.catalogue, job_);
  if (!command.ok()) return std::nullopt;
  return WindowShapeOf({command->params().begin(), command->params().end()});
}

std::optional<Limit> LoaderWork::LimitOfLoader(double reached) const {
  const std::optional<WindowShape> resized = OwnWindowShape();
  if (!HasLimit(spec_, job_.device() == "cuda", resized.has_value())) {
    return std::nullopt;
  }
  const std::optional<Limit> decode =
      limits_->Of(spec_, input_, UsableProcessors(), reached, resized);
  if (!device_limits_.has_value()) {
    const std::string engine = EngineDecode();
    if (engine == "unreported" && !resized.has_value()) {
      return LimitOfPeer(spec_, BytesOfFile(), limits_->CopyBytesPerSecond());
    }
    // The speed of the CPU is not a limit when engines decode too.
    return engine.empty() ? decode : std::nullopt;
  }
  DeviceLimitInput input;
  input.device = *device_limits_;
  // With engines a loader may have no workers.
  if (spec_.workers() == 0 && input.device.engine_items_per_s() > 0) {
    input.cpu_items_per_s = 0;
  } else if (decode.has_value()) {
    input.cpu_items_per_s = decode->throughput();
  }
  const bool copies_samples = spec_.scope() == kCopyScope;
  // The number of pixels in its windows is random.
  if (!resized.has_value() || copies_samples) {
    input.item_bytes =
        LeastItemBytes(spec_, copies_samples, BytesOfFile(), input.device);
  }
  return LowestDeviceLimit(input);
}

double LoaderWork::BytesOfFile() const {
  const auto files = static_cast<double>(input_.dataset.files());
  return files > 0 ? static_cast<double>(input_.dataset.bytes()) / files : 0;
}

std::string LoaderWork::EngineDecode() const {
  const Library* const library = context_.catalogue.FindLibrary(job_.library());
  if (library == nullptr || job_.device() != "cuda") return "";
  return library->engine_decode();
}

double LoaderWork::EngineItemsPerSecond() const {
  // Such a library decodes clips on the same engine as the others.
  if (engine_items_per_s_ > 0 || EngineDecode() != "unreported") {
    return engine_items_per_s_;
  }
  return context_.engines->Get(input_.fd, spec_.workers());
}

void LoaderWork::AddLimit(Row* row) const {
  if (device_limits_.has_value()) {
    AddSameFields(*device_limits_, row->mutable_loader()->mutable_gpu());
  }
  const double engine = EngineItemsPerSecond();
  if (engine > 0) return SetLimit(kEngineLimit, engine, row);
  if (IsNullJob(job_)) return;
  const std::optional<Limit> limit = LimitOfLoader(row->throughput());
  if (limit.has_value()) SetLimit(limit->name(), limit->throughput(), row);
}

void LoaderWork::AddComparisons(const std::vector<EpochReply>& epochs,
                                Row* row) const {
  LoaderStats* const loader = row->mutable_loader();
  if (one_worker_.has_value() && options_.consumer_s == 0) {
    loader->set_worker_efficiency(RunningThroughput(epochs[0]) /
                                  (spec_.workers() * *one_worker_));
  }
  if (!options_.diagnose || IsNullJob(job_)) return;
  *loader->mutable_diagnosis() = Diagnose(spec_, trials_, *loader);
}

absl::Status LoaderWork::Measure(int run_index, Row* row) {
  Cache cache;
  ReadBytes read;
  TreeWatch memory(static_cast<pid_t>(child_->server_pid()),
                   static_cast<pid_t>(child_->pid()), HalfOfEpoch());
  const std::unique_ptr<GpuWatch> gpu = WatchGpu(job_);
  const NoiseCounters before = subject_->Count();
  ASSIGN_OR_RETURN(const std::vector<EpochReply> epochs,
                   RunEpochs(SeedOfRun(job_, run_index), &cache, &read));
  const NoiseCounters after = subject_->Count();
  const std::optional<int64_t> peak_bytes = memory.Stop();
  SetEpochs(epochs, spec_, UsableProcessors(), options_.consumer_s, row);
  SetStorage(epochs, spec_, one_connection_mb_per_s_, row);
  row->mutable_loader()->set_bytes_in(
      std::max({read.device, read.calls, row->storage().bytes()}));
  if (random_item_s_.has_value()) {
    row->mutable_loader()->set_random_item_s(*random_item_s_);
  }
  if (gpu != nullptr) SetGpuUsage(gpu->Stop(), row);
  SetEnergy(EnergyBetween(before.energy, after.energy), row);
  SetNoise(context_.noise->JudgeLoader(before, after, row->elapsed_s(),
                                       row->loader().cpu_s()),
           row);
  const LoaderPolicy& policy = context_.catalogue.policy().loader();
  if (row->loader().has_consumer_utilisation() &&
      row->loader().batches() >= policy.utilisation_batches()) {
    row->mutable_loader()->set_utilisation_mark(policy.utilisation_mark());
  }
  if (peak_bytes.has_value()) row->set_rss_peak_bytes(*peak_bytes);
  if (epochs_.sample_ratio < 1) row->add_labels("indicative");
  if (input_.paths != nullptr) SetCache(cache, options_.cold, row);
  AddLimit(row);
  AddComparisons(epochs, row);
  return absl::OkStatus();
}

void LoaderWork::End() {
  subject_ = nullptr;
  child_ = nullptr;
}

class LoaderMode : public JobMode {
 public:
  explicit LoaderMode(const LoaderWorkOptions& options) : options_(options) {}

  bool Covers(const Job& job) const override { return IsLoaderJob(job); }
  std::string JobsTitle() const override { return "loaders"; }
  absl::Status Check(const Catalogue& catalogue, const Job& job) override {
    RETURN_IF_ERROR(LoaderSpecOfJob(catalogue, job).status());
    return EpochPolicyOfJob(job).status();
  }
  absl::Status LoadInput(const RunInputs& inputs, const Job& job) override {
    if (inputs_ == nullptr) {
      const auto progress = inputs.progress;
      inputs_ = std::make_unique<LoaderInputs>(
          inputs.catalogue, inputs.dataset, inputs.remote, options_.open_remote,
          inputs.corpora, [progress](int64_t done, int64_t total) {
            progress("images", done, total);
          });
    }
    return inputs_->Get(job).status();
  }
  std::unique_ptr<JobWork> MakeWork(const RunContext& context, const Job& job,
                                    const JobPolicy& policy) override {
    if (limits_ == nullptr) {
      limits_ = std::make_unique<LoaderLimits>(context.clips.limit);
    }
    return std::make_unique<LoaderWork>(context, job, policy, options_,
                                        inputs_.get(), limits_.get());
  }
  absl::StatusOr<Audit> AuditJob(const RunContext& context, const Job& job,
                                 const JobPolicy& policy) override {
    ASSIGN_OR_RETURN(const LoaderInputs::Input input, inputs_->Get(job));
    return AuditLoader(context, job, policy, input, options_);
  }

 private:
  const LoaderWorkOptions options_;
  std::unique_ptr<LoaderInputs> inputs_;
  std::unique_ptr<LoaderLimits> limits_;
};

}  // namespace

std::shared_ptr<JobMode> MakeLoaderMode(const LoaderWorkOptions& options) {
  return std::make_shared<LoaderMode>(options);
}

}  // namespace feedrate
