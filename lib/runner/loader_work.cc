#include "lib/runner/loader_work.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "lib/adapters/worker/params.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/machine/gpu.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/runner/cache_row.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/device_limit.h"
#include "lib/runner/diagnosis.h"
#include "lib/runner/equivalence_check.h"
#include "lib/runner/loader_inputs.h"
#include "lib/runner/loader_row.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/null_job.h"
#include "lib/runner/prepare_command.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"
#include "lib/runner/storage_row.h"
#include "lib/runner/tree_watch.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Items differ in size, and the first batch predicts the others badly.
constexpr double kHangFactor = 10;
// How long a loader is tried that is only compared with.
constexpr double kTrialS = 2;
// How long its device's limits are measured.
constexpr double kLimitS = 0.6;
// Libraries and threads of a loader, beside its batches.
constexpr int64_t kOfAnyLoader = int64_t{512} << 20;

int UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The first items, by content.
absl::StatusOr<std::string> HashOfFirst(const LoaderInputs::Input& input,
                                        int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const std::string bytes, ItemBytes(input, i));
    absl::StrAppend(&text, Sha256Hex(bytes), "\n");
  }
  return Sha256Hex(text);
}

// Null where the job has no GPU, or its driver tells nothing: rows are rows
// without it.
std::unique_ptr<GpuWatch> WatchGpu(const Job& job) {
  const std::optional<unsigned> index =
      FirstVisibleGpu(std::getenv("CUDA_VISIBLE_DEVICES"));
  if (job.device() != "cuda" || job.hardware_class() == "host_cpu" ||
      !index.has_value()) {
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<GpuWatch>> watch =
      GpuWatch::Start(NvmlLibraries(), *index);
  return watch.ok() ? *std::move(watch) : nullptr;
}

}  // namespace

absl::Status LoaderWork::GetInput() {
  const TimeAccount::Entry entry(context_.account, Spending::kMedia);
  ASSIGN_OR_RETURN(input_, context_.loader_inputs->Get(job_));
  dataset_ = input_.dataset;
  ASSIGN_OR_RETURN(spec_, LoaderSpecOfJob(context_.catalogue, job_));
  spec_.source = input_.source;
  if (input_.remote != nullptr) spec_.store = input_.remote->Fields();
  spec_.on_error = context_.loader.on_error;
  ASSIGN_OR_RETURN(epochs_, EpochPolicyOfJob(job_));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LoaderWork::OwnBytes() {
  RETURN_IF_ERROR(GetInput());
  const int64_t batch_bytes =
      spec_.batch_size * spec_.channels * spec_.crop * spec_.crop * int64_t{4};
  const int64_t batches =
      int64_t{1} + std::max(spec_.workers, 1) * spec_.prefetch;
  // A loader that rests between its epochs has given most of it back.
  return kOfAnyLoader + (spec_.persistent ? batches : 1) * batch_bytes;
}

absl::StatusOr<std::unique_ptr<MeasuredChild>> LoaderWork::Spawn(
    const LoaderSpec& spec, PrepareReply* reply) const {
  ASSIGN_OR_RETURN(PrepareCommand command,
                   PrepareCommandOfJob(context_.catalogue, job_));
  command.loader = spec;
  LibraryServer* server = nullptr;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kImport);
    ASSIGN_OR_RETURN(server, context_.servers->Get(job_));
  }
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  ASSIGN_OR_RETURN(std::unique_ptr<MeasuredChild> child,
                   MeasuredChild::Spawn(server, job_.library(), input_.fd,
                                        context_.limits.memory_bytes));
  ASSIGN_OR_RETURN(*reply, child->Prepare(command, PrepareLimit(context_)));
  return child;
}

absl::Status LoaderWork::Prepare() {
  RETURN_IF_ERROR(GetInput());
  PrepareReply reply;
  ASSIGN_OR_RETURN(child_, Spawn(spec_, &reply));
  version_ = reply.version;
  engine_items_per_s_ = reply.engine_items_per_s;
  context_.loader_limits->NoteEngine(input_.fd, spec_.workers,
                                     engine_items_per_s_);
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s);
  return absl::OkStatus();
}

absl::StatusOr<EpochReply> LoaderWork::Epoch(MeasuredChild* child,
                                             int64_t count, uint64_t seed,
                                             double limit_s,
                                             double consumer_s) const {
  EpochCommand command;
  command.seed = seed;
  command.count = count;
  command.limit_s = limit_s;
  command.consumer_s = consumer_s;
  const int64_t batches = count / spec_.batch_size + 1;
  const double hang_s =
      policy_.warm_up.hang_s + limit_s +
      kHangFactor * (per_item_s_ * count + consumer_s * batches);
  return child->Epoch(command, spec_.batch_size, absl::Seconds(hang_s));
}

absl::StatusOr<Preflight> LoaderWork::LookAhead() {
  const PreflightPolicy& policy = policy_.preflight;
  Preflight preflight;
  const int64_t count = std::min(policy.items, input_.items);
  ASSIGN_OR_RETURN(const EpochReply epoch,
                   Epoch(child_.get(), count, SeedOfRun(job_, 0), policy.max_s,
                         /*consumer_s=*/0));
  preflight.elapsed_s = epoch.elapsed_s;
  preflight.items = epoch.items;
  // One worker did them all; that workers start is not the transform's fault.
  const double running = RunningThroughput(epoch);
  preflight.per_item_s = running > 0 ? 1 / running : 0;
  // Nor that a store is far away.
  preflight.stops_early = policy.slow_skip && input_.remote == nullptr &&
                          preflight.per_item_s >= policy.slow_threshold_s;
  if (preflight.stops_early) {
    preflight.reason = absl::StrFormat(
        "preflight: %.3f s an item over %d items, slow from %.3f s on",
        preflight.per_item_s, epoch.items, policy.slow_threshold_s);
  }
  return preflight;
}

absl::StatusOr<Equivalence> LoaderWork::CheckEquivalence() {
  ComparedItems items;
  items.count = input_.items;
  // Of clips in files only the first are there to compare with.
  if (input_.decoded.plain != nullptr) {
    items.count = std::min(items.count, input_.decoded.plain->size());
  }
  items.recipe = &spec_;
  items.sha256 = input_.dataset.sha256();
  if (input_.files != nullptr && input_.files->source != "shards") {
    const int64_t count = std::min<int64_t>(
        context_.catalogue.policy().measuring().compared_items(), items.count);
    ASSIGN_OR_RETURN(items.sha256, HashOfFirst(input_, count));
  }
  items.item = [this](int64_t i, int frame) {
    return DecodedItem(input_, i, frame, spec_.channels);
  };
  return context_.equivalence->Check(job_, version_, items,
                                     absl::Seconds(policy_.warm_up.hang_s),
                                     child_.get());
}

absl::StatusOr<EpochReply> LoaderWork::TryOther(const LoaderSpec& spec) const {
  PrepareReply reply;
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> child,
                   Spawn(spec, &reply));
  // The first epoch of a process is its warm-up.
  const int64_t count = input_.items;
  RETURN_IF_ERROR(Epoch(child.get(), std::min(count, spec_.batch_size),
                        SeedOfRun(job_, 0), kTrialS, 0)
                      .status());
  return Epoch(child.get(), count, SeedOfRun(job_, 0), kTrialS, 0);
}

absl::Status LoaderWork::CompareWithOneWorker() {
  LoaderSpec spec = spec_;
  spec.workers = 1;
  ASSIGN_OR_RETURN(const EpochReply epoch, TryOther(spec));
  const double throughput = RunningThroughput(epoch);
  if (throughput > 0) one_worker_ = throughput;
  return absl::OkStatus();
}

absl::Status LoaderWork::CompareWithOneConnection() {
  LoaderSpec spec = spec_;
  spec.settings["connections"] = "1";
  // What a cache has is not what a connection moves.
  spec.store["cache_folder"] = "";
  ASSIGN_OR_RETURN(EpochReply epoch, TryOther(spec));
  one_connection_mb_per_s_ = DownloadMbPerS({std::move(epoch)});
  return absl::OkStatus();
}

absl::Status LoaderWork::TryAblations() {
  for (const char* name : {"cached_batch", "no_augment", "no_decode"}) {
    LoaderSpec spec = spec_;
    spec.ablation = name;
    if (input_.source == "corpus" && spec.ablation == "no_decode") continue;
    const absl::StatusOr<EpochReply> epoch = TryOther(spec);
    // A loader that cannot leave something out is told without it.
    if (epoch.status().code() == absl::StatusCode::kUnknown) continue;
    RETURN_IF_ERROR(epoch.status());
    LoaderAblation& ablation = ablations_.emplace_back();
    ablation.set_name(name);
    ablation.set_throughput(RunningThroughput(*epoch));
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceLimits> LoaderWork::AskForDeviceLimits() const {
  LoaderSpec spec = spec_;
  spec.ablation = kDeviceLimits;
  PrepareReply reply;
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> child,
                   Spawn(spec, &reply));
  ASSIGN_OR_RETURN(const EpochReply epoch,
                   Epoch(child.get(), 1, SeedOfRun(job_, 0), kLimitS, 0));
  if (epoch.device_limits.has_value()) return *epoch.device_limits;
  return absl::UnknownError("was asked for its device's limits and told none");
}

absl::Status LoaderWork::MeasureDevice() {
  const bool is_ours =
      job_.library() == "cuda" ||
      (job_.library() == "native" && spec_.scope == kCopyScope);
  if (job_.device() != "cuda" || !is_ours || asked_for_limits_) {
    return absl::OkStatus();
  }
  asked_for_limits_ = true;
  std::string key = absl::StrCat(job_.library(), " ", input_.fd);
  for (const char* name : {"nvjpeg", "nvjpeg_threads"}) {
    const auto setting = spec_.settings.find(name);
    if (setting == spec_.settings.end()) continue;
    absl::StrAppend(&key, " ", name, "=", setting->second);
  }
  const absl::StatusOr<DeviceLimits> limits = context_.loader_limits->OfDevice(
      key, [this] { return AskForDeviceLimits(); });
  if (absl::IsCancelled(limits.status())) return limits.status();
  if (limits.ok()) {
    device_limits_ = *limits;
  } else {
    // A row without a limit is better than none.
    std::cerr << "pipeline: " << job_.library() << ", " << job_.transform()
              << ": without a limit: " << limits.status().message() << "\n";
  }
  return absl::OkStatus();
}

absl::Status LoaderWork::WarmUp() {
  const int64_t count = std::min(input_.items, spec_.batch_size);
  ASSIGN_OR_RETURN(const EpochReply epoch,
                   Epoch(child_.get(), count, SeedOfRun(job_, 0), 0, 0));
  per_item_s_ =
      epoch.elapsed_s / static_cast<double>(std::max<int64_t>(epoch.items, 1));
  if (IsNullJob(job_)) return absl::OkStatus();
  RETURN_IF_ERROR(MeasureDevice());
  if (context_.loader.worker_efficiency && spec_.workers > 1 &&
      !one_worker_.has_value()) {
    RETURN_IF_ERROR(CompareWithOneWorker());
  }
  if (context_.loader.connection_efficiency && ConnectionsOf(spec_) > 1 &&
      !one_connection_mb_per_s_.has_value()) {
    RETURN_IF_ERROR(CompareWithOneConnection());
  }
  if (context_.loader.diagnose && ablations_.empty()) {
    RETURN_IF_ERROR(TryAblations());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EpochReply>> LoaderWork::RunEpochs(uint64_t seed,
                                                              Cache* cache) {
  std::vector<EpochReply> epochs;
  double elapsed_s = 0;
  int64_t batches = 0;
  const pid_t pid = static_cast<pid_t>(child_->pid());
  int64_t bytes_read = 0;
  while (epochs.empty() || elapsed_s < epochs_.min_time_s ||
         batches < epochs_.min_batches) {
    if (input_.paths != nullptr) {
      RETURN_IF_ERROR(LookAtPages(*input_.paths, context_.loader.cold, cache));
    }
    const std::optional<int64_t> before = TreeReadBytes(Root(), pid);
    {
      const TimeAccount::Entry entry(context_.account, Spending::kTimed);
      ASSIGN_OR_RETURN(epochs.emplace_back(),
                       Epoch(child_.get(), input_.items, seed + epochs.size(),
                             0, context_.loader.consumer_s));
    }
    const std::optional<int64_t> after = TreeReadBytes(Root(), pid);
    bytes_read += std::max<int64_t>(after.value_or(0) - before.value_or(0), 0);
    const EpochReply& epoch = epochs.back();
    if (epoch.items == 0) {
      return absl::UnknownError(
          absl::StrCat("delivered no item of ", input_.items, "; ",
                       epoch.errors_total, " could not be used",
                       epoch.errors.empty()
                           ? ""
                           : absl::StrCat(", the first: ", epoch.errors[0].path,
                                          ": ", epoch.errors[0].reason)));
    }
    elapsed_s += epoch.elapsed_s;
    batches += epoch.batches;
  }
  cache->set_bytes_read(bytes_read);
  return epochs;
}

double LoaderWork::HalfOfEpoch() const {
  // The warm-up was one batch, which is one worker's.
  const int hands = std::clamp(spec_.workers, 1, UsableProcessors());
  return per_item_s_ * static_cast<double>(input_.items) / hands / 2;
}

std::optional<WindowShape> LoaderWork::OwnWindowShape() const {
  if (!spec_.is_crop) return std::nullopt;
  const absl::StatusOr<PrepareCommand> command =
      PrepareCommandOfJob(context_.catalogue, job_);
  return command.ok() ? WindowShapeOf(command->params) : std::nullopt;
}

std::optional<Limit> LoaderWork::LimitOfLoader() const {
  const std::optional<WindowShape> resized = OwnWindowShape();
  // Decoded at a fraction of their size, images are other work.
  const auto scaled = spec_.settings.find("scaled_decode");
  if (resized.has_value() && scaled != spec_.settings.end() &&
      scaled->second == "true") {
    return std::nullopt;
  }
  const std::optional<Limit> decode =
      context_.loader_limits->Of(spec_, input_, UsableProcessors(), resized);
  if (!device_limits_.has_value()) {
    const bool is_dali = job_.library() == "dali" && job_.device() == "cuda";
    if (is_dali && !resized.has_value()) return LimitOfPeer();
    // What the CPU decodes is no limit where engines decode as well.
    return is_dali || job_.library() == "cuda" ? std::nullopt : decode;
  }
  DeviceLimitInput input;
  input.device = *device_limits_;
  // With engines a loader may do without workers.
  if (spec_.workers == 0 && input.device.engine_items_per_s > 0) {
    input.cpu_items_per_s = 0;
  } else if (decode.has_value()) {
    input.cpu_items_per_s = decode->throughput();
  }
  const bool copies_samples = spec_.scope == kCopyScope;
  // How many pixels its windows have is a matter of the draw.
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

// What its decoder could do at most nobody knows, but files or pixels must get
// to the device; how fast they can, one of our loaders has measured, if one ran
// before.
std::optional<Limit> LoaderWork::LimitOfPeer() const {
  DeviceLimitInput input;
  input.device.copy_bytes_per_s = context_.loader_limits->CopyBytesPerSecond();
  DeviceLimits with_engines;
  with_engines.engine_items_per_s = 1;
  input.item_bytes = LeastItemBytes(spec_, /*copies_samples=*/false,
                                    BytesOfFile(), with_engines);
  return LowestDeviceLimit(input);
}

double LoaderWork::EngineItemsPerSecond() const {
  // DALI decodes clips on the same engine, and does not tell what it gives.
  const bool is_peer = job_.library() == "dali" && job_.device() == "cuda";
  if (engine_items_per_s_ > 0 || !is_peer) return engine_items_per_s_;
  return context_.loader_limits->Engine(input_.fd, spec_.workers);
}

void LoaderWork::AddLimit(Row* row) const {
  if (device_limits_.has_value()) {
    LoaderGpu* const gpu = row->mutable_loader()->mutable_gpu();
    gpu->set_engine_items_per_s(device_limits_->engine_items_per_s);
    gpu->set_copy_bytes_per_s(device_limits_->copy_bytes_per_s);
  }
  const double engine = EngineItemsPerSecond();
  if (engine > 0) return SetLimit(kEngineLimit, engine, row);
  if (IsNullJob(job_)) return;
  const std::optional<Limit> limit = LimitOfLoader();
  if (limit.has_value()) SetLimit(limit->name(), limit->throughput(), row);
}

void LoaderWork::AddComparisons(const std::vector<EpochReply>& epochs,
                                Row* row) const {
  LoaderStats* const loader = row->mutable_loader();
  if (one_worker_.has_value() && context_.loader.consumer_s == 0) {
    loader->set_worker_efficiency(RunningThroughput(epochs[0]) /
                                  (spec_.workers * *one_worker_));
  }
  if (!context_.loader.diagnose || IsNullJob(job_)) return;
  *loader->mutable_diagnosis() =
      Diagnose(spec_, RunningThroughput(epochs[0]), ablations_, *loader);
}

absl::Status LoaderWork::Measure(int run_index, Row* row) {
  Cache cache;
  TreeWatch memory(static_cast<pid_t>(child_->server_pid()),
                   static_cast<pid_t>(child_->pid()), HalfOfEpoch());
  const std::unique_ptr<GpuWatch> gpu = WatchGpu(job_);
  NoiseCounters before = subject_->Count();
  ASSIGN_OR_RETURN(const std::vector<EpochReply> epochs,
                   RunEpochs(SeedOfRun(job_, run_index), &cache));
  NoiseCounters after = subject_->Count();
  const std::optional<int64_t> peak_bytes = memory.Stop();
  SetEpochs(epochs, spec_, UsableProcessors(), context_.loader.consumer_s, row);
  SetStorage(epochs, spec_, one_connection_mb_per_s_, row);
  if (gpu != nullptr) SetGpuUsage(gpu->Stop(), row);
  // Of a loader's own processes and threads one does not know which waited for
  // which; what others did to it, and that a quota stopped it, is known.
  before.process = {};
  after.process = {};
  before.process.cpu_s = 0;
  after.process.cpu_s = row->loader().cpu_s();
  for (const std::string& warning :
       context_.noise->Judge(before, after, row->elapsed_s())) {
    row->add_warnings(warning);
  }
  if (row->loader().has_consumer_utilisation()) {
    row->mutable_loader()->set_utilisation_mark(
        context_.catalogue.policy().loader().utilisation_mark());
  }
  if (peak_bytes.has_value()) row->set_rss_peak_bytes(*peak_bytes);
  if (epochs_.sample_ratio < 1) row->add_labels("indicative");
  if (input_.paths != nullptr) SetCache(cache, context_.loader.cold, row);
  AddLimit(row);
  AddComparisons(epochs, row);
  return absl::OkStatus();
}

void LoaderWork::End() {
  subject_ = nullptr;
  child_ = nullptr;
}

}  // namespace feedrate
