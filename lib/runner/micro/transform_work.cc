#include "lib/runner/micro/transform_work.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/gpu.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/media/corpus.h"
#include "lib/records/fields.h"
#include "lib/records/worker.pb.h"
#include "lib/reference/pixels.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/measured_process.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/runner/micro/decode_row.h"
#include "lib/runner/micro/distrusted_calls.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// An answer counts as missing after this many times the expected time; as in
// MeasureRun.
constexpr double kPatience = 10;

// Sessions of a decoding engine: a call decodes one clip.
constexpr int kSessions = 1;

// Buffers and outputs of a transform, and what a forked library touches.
constexpr int64_t kProcessBytes = int64_t{256} << 20;
// A CUDA context with its kernels, the buffer that flushes the caches, and some
// outputs.
constexpr int64_t kGpuProcessBytes = int64_t{2} << 30;

// More than the caches hold, but only a few milliseconds of work.
constexpr int64_t kItems = 64;
constexpr int kPasses = 4;
// Before and after each run.
constexpr int64_t kProbedBytes = int64_t{32} << 20;

// Times passes over the first items, each copied into one buffer.
class Copies {
 public:
  Copies(const Corpus& corpus, int64_t most_bytes) : corpus_(corpus) {
    int64_t largest = 1;
    while (items_ < std::min(corpus.size(), kItems) && bytes_ < most_bytes) {
      const int64_t bytes = corpus.item(items_++).bytes;
      largest = std::max(largest, bytes);
      bytes_ += bytes;
    }
    // Touched, so that no pass pays for its pages.
    buffer_.assign(largest, 0);
  }

  double PassSeconds() {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < items_; ++i) {
      const ItemView item = corpus_.item(i);
      std::memcpy(buffer_.data(), item.data, item.bytes);
      // Keeps the compiler from removing the copy.
      asm volatile("" : : "r"(buffer_.data()) : "memory");
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    return std::max(elapsed.count(), 1e-9);
  }

  int64_t items() const { return items_; }
  int64_t bytes() const { return bytes_; }

 private:
  const Corpus& corpus_;
  int64_t items_ = 0;
  int64_t bytes_ = 0;
  std::vector<char> buffer_;
};

double MeasureCopies(const Corpus& corpus) {
  Copies copies(corpus, std::numeric_limits<int64_t>::max());
  double best_s = copies.PassSeconds();
  for (int pass = 1; pass < kPasses; ++pass) {
    best_s = std::min(best_s, copies.PassSeconds());
  }
  return static_cast<double>(copies.items()) / best_s;
}
}  // namespace

std::optional<double> CopyLimit::Of(const Job& job, const Corpus& corpus,
                                    double reached) {
  for (const std::string& partial :
       catalogue_.policy().coverage().partial_transforms()) {
    if (job.transform() == partial) return std::nullopt;
  }
  return LimitFor(
      reached, [&] { return MeasureCopies(corpus); }, &known_[&corpus]);
}

namespace {

constexpr char kThrottled[] = "throttled";

void AddThrottled(Row* row) {
  const auto& warnings = row->warnings();
  if (std::find(warnings.begin(), warnings.end(), kThrottled) !=
      warnings.end()) {
    return;
  }
  row->add_warnings(kThrottled);
  row->mutable_noise()->add_causes("throttling");
  std::sort(row->mutable_warnings()->begin(), row->mutable_warnings()->end());
}

void SetClocks(const DeviceReply& gpu, const GpuRowInput& input,
               GpuState* state) {
  AddSameFields(gpu, state);
  for (const std::string& word : ThrottleWords(gpu.throttle_reasons())) {
    state->add_throttle_reasons(word);
  }
  const int64_t full =
      input.locked_clock_mhz > 0 ? input.locked_clock_mhz : gpu.max_clock_mhz();
  const double least = input.slow_clock * static_cast<double>(full);
  for (int i = 0; i < gpu.clocks_mhz_size(); ++i) {
    if (static_cast<double>(gpu.clocks_mhz(i)) < least) {
      state->add_slow_samples(i);
    }
  }
}

}  // namespace

void SetGpu(const GpuRowInput& input, const TimeReply& timing, Row* row) {
  if (!timing.has_device()) return;
  const DeviceReply& gpu = timing.device();
  GpuState* const state = row->mutable_gpu();
  state->set_l2(input.settings.cold ? "cold" : "hot");
  state->set_batch(input.settings.batch);
  state->set_copy_bytes_per_s(input.copy_bytes_per_s);
  state->set_warm(input.warm);
  SetClocks(gpu, input, state);
  if (state->slow_samples_size() > 0) AddThrottled(row);
  if (input.settings.cold) row->add_labels("cold");
  if (input.per_sample_loop) row->add_labels("per_sample_loop");
  if (input.settings.batch > 0) row->set_timed_unit("batch");
  AddSameFields(gpu, row->mutable_gpu_memory());
  const double moved = static_cast<double>(
      gpu.bytes_out() + (input.partial ? 0 : gpu.bytes_in()));
  // What is in L2 moves faster than memory does.
  if (moved > 0 && input.copy_bytes_per_s > 0 && input.settings.cold) {
    SetLimit(
        "device copy",
        static_cast<double>(timing.items()) * input.copy_bytes_per_s / moved,
        row);
  }
}

int64_t ExpectedTransformMemory(const Catalogue& catalogue, const Job& job,
                                int64_t corpus_bytes) {
  for (const InputLayout& layout : catalogue.policy().input_layouts()) {
    if (absl::c_linear_search(layout.library(), job.library()) &&
        layout.layout() == "PIL") {
      return kProcessBytes + corpus_bytes;
    }
  }
  return kProcessBytes;
}

namespace {

class TransformWork : public JobWork {
 public:
  // All outlive this object.
  TransformWork(const RunContext& context, const Job& job,
                const JobPolicy& policy, CopyLimit* copy_limit)
      : context_(context),
        job_(job),
        policy_(policy),
        copy_limit_(copy_limit) {}

  absl::StatusOr<int64_t> ExpectedMemory() override;
  absl::StatusOr<int64_t> ExpectedGpuMemory() override;
  absl::Status Prepare() override;
  absl::StatusOr<Preflight> LookAhead() override;
  absl::StatusOr<Equivalence> CheckEquivalence() override;
  absl::Status WarmUp() override;
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "item"; }

 private:
  // A process that makes the outputs to compare with. Null when its library
  // does not have the transform.
  absl::StatusOr<std::unique_ptr<MeasuredChild>> StartReference(
      const Job& reference);
  // The same for a job that is measured without trust. FailedPrecondition if
  // its calls were not what they seemed.
  absl::Status MeasureDistrusted(const RunRequest& request, Row* row);
  void AddMeasured(const TimeReply& timing, Row* row);
  void AddGpu(const TimeReply& timing, Row* row);
  bool IsPartial() const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  CopyLimit* const copy_limit_;
  InputCorpora::Input input_;
  int64_t num_items_ = 0;
  // Null if the job's items are not in the memory of this machine.
  std::unique_ptr<Copies> copies_;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
  // The same object if the job is measured without trust, else null.
  DistrustedCalls* distrusted_ = nullptr;
  feedrate::WarmUp warm_up_;
  // Speed of copies within the device, on a GPU.
  double device_copy_bytes_per_s_ = 0;
  bool per_sample_loop_ = false;
  // Measured by the preflight.
  double per_item_s_ = 0;
  // Set for decoders.
  Decode decode_;
};

absl::StatusOr<int64_t> TransformWork::ExpectedMemory() {
  ASSIGN_OR_RETURN(const InputCorpora::Input input,
                   context_.corpora->Get(job_));
  return ExpectedTransformMemory(context_.catalogue, job_,
                                 input.original->file_bytes());
}

absl::StatusOr<int64_t> TransformWork::ExpectedGpuMemory() {
  if (!OnGpu(job_)) return 0;
  ASSIGN_OR_RETURN(const InputCorpora::Input input,
                   context_.corpora->Get(job_));
  return kGpuProcessBytes + input.corpus->file_bytes();
}

absl::Status TransformWork::Prepare() {
  ASSIGN_OR_RETURN(const PrepareCommand command,
                   PrepareCommandOfJob(context_.catalogue, job_));
  LibraryServer* server = nullptr;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kImport);
    ASSIGN_OR_RETURN(server, context_.servers->Get(job_));
  }
  {
    const TimeAccount::Entry entry(context_.account, Spending::kMedia);
    ASSIGN_OR_RETURN(input_, context_.corpora->Get(job_));
  }
  dataset_ = input_.dataset;
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  num_items_ = job_.num_items() == 0 ? input_.size : job_.num_items();
  if (!OnGpu(job_) && input_.corpus != nullptr) {
    copies_ = std::make_unique<Copies>(*input_.corpus, kProbedBytes);
  }
  ASSIGN_OR_RETURN(child_,
                   MeasuredChild::Spawn(server, job_.library(), input_.fd,
                                        context_.limits.memory_bytes));
  ASSIGN_OR_RETURN(const PrepareReply reply,
                   child_->Prepare(command, PrepareLimit(context_)));
  version_ = reply.version();
  device_copy_bytes_per_s_ = reply.device_copy_bytes_per_s();
  context_.engines->Note(input_.fd, kSessions, reply.engine_items_per_s());
  per_sample_loop_ = reply.per_sample_loop();
  if (IsDistrusted(job_)) {
    ASSIGN_OR_RETURN(std::unique_ptr<DistrustedCalls> calls,
                     DistrustedCalls::Attach(child_.get(), *input_.original,
                                             EnergyOf(context_, job_),
                                             policy_.preflight.hang_s));
    distrusted_ = calls.get();
    subject_ = std::move(calls);
    return absl::OkStatus();
  }
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s(),
                                            EnergyOf(context_, job_),
                                            context_.speed, job_.library());
  return absl::OkStatus();
}

absl::StatusOr<Preflight> TransformWork::LookAhead() {
  if (OnGpu(job_) || OnEngine(job_)) {
    // The first call loads kernels, which takes tenths of a second in some
    // libraries. The preflight must not include that.
    TimeRequest first;
    first.count = 1;
    first.seed = SeedOfRun(job_, 0);
    first.hang_s = policy_.preflight.hang_s;
    RETURN_IF_ERROR(subject_->Time(first).status());
  }
  ASSIGN_OR_RETURN(
      const Preflight preflight,
      RunPreflight(policy_.preflight, num_items_, SeedOfRun(job_, 0),
                   policy_.unit, subject_.get()));
  per_item_s_ = preflight.per_item_s;
  return preflight;
}

absl::StatusOr<Equivalence> TransformWork::CheckEquivalence() {
  // Their outputs are checked after the timed calls, unannounced.
  if (distrusted_ != nullptr) return Equivalence();
  // A slow transform is not hanging: the preflight knows how slow it is.
  const double expected_s =
      per_item_s_ * context_.catalogue.policy().measuring().compared_items();
  const absl::Duration limit =
      absl::Seconds(policy_.warm_up.hang_s + kPatience * expected_s);
  if (IsDecodeJob(job_)) {
    return CheckDecoder(context_, job_, input_, limit, child_.get(), &decode_);
  }
  ComparedItems items;
  items.count = input_.original->size();
  const int channels =
      context_.catalogue.FindScenario(job_.scenario())->channels();
  items.sha256 = input_.dataset.sha256();
  items.item = [this, channels](int64_t i,
                                int frame) -> absl::StatusOr<Pixels> {
    return PixelsOfItem(*input_.original, i, frame, channels);
  };
  const std::optional<Job> reference = context_.equivalence->ReferenceJob(job_);
  if (!reference.has_value()) {
    return context_.equivalence->Check(job_, version_, items, limit,
                                       child_.get());
  }
  EquivalenceCheck::Rival rival = {reference->library(), nullptr};
  ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredChild> other,
                   StartReference(*reference));
  rival.child = other.get();
  return context_.equivalence->CheckAgainst(rival, job_, items, limit,
                                            child_.get());
}

absl::StatusOr<std::unique_ptr<MeasuredChild>> TransformWork::StartReference(
    const Job& reference) {
  const absl::StatusOr<PrepareCommand> command =
      PrepareCommandOfJob(context_.catalogue, reference);
  if (!command.ok()) return nullptr;
  ASSIGN_OR_RETURN(LibraryServer* const server,
                   context_.servers->Get(reference));
  ASSIGN_OR_RETURN(const InputCorpora::Input input,
                   context_.corpora->Get(reference));
  ASSIGN_OR_RETURN(std::unique_ptr<MeasuredChild> child,
                   MeasuredChild::Spawn(server, reference.library(), input.fd,
                                        context_.limits.memory_bytes));
  const absl::StatusOr<PrepareReply> reply =
      child->Prepare(*command, PrepareLimit(context_));
  // A subject without this transform says so.
  if (absl::IsUnknown(reply.status())) return nullptr;
  RETURN_IF_ERROR(reply.status());
  return child;
}

absl::Status TransformWork::WarmUp() {
  WarmUpPolicy policy = policy_.warm_up;
  if (policy_.chunk.fixed > 0) {
    policy.chunk = CallsOnGpu(policy_.chunk, per_item_s_);
  }
  ASSIGN_OR_RETURN(warm_up_, RunWarmUp(policy, num_items_, SeedOfRun(job_, 0),
                                       subject_.get()));
  return absl::OkStatus();
}

absl::Status TransformWork::Measure(int run_index, Row* row) {
  RunRequest request;
  request.num_items = num_items_;
  request.chunk = policy_.chunk;
  // The null row shows what one timing costs, so the clock is read each time.
  if (IsNullJob(job_)) request.chunk.chunk_below_s = 0;
  request.per_call_s = warm_up_.per_item_s;
  request.seed = SeedOfRun(job_, run_index);
  request.rewarm_items = policy_.warm_up.subset_items;
  request.hang_s = policy_.warm_up.hang_s;
  request.cold = OnGpu(job_) && policy_.gpu.cold;
  request.worker = job_.library();
  if (distrusted_ != nullptr) return MeasureDistrusted(request, row);
  RunResult result;
  double copy_s = 0;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kTimed);
    if (copies_ != nullptr) copy_s += copies_->PassSeconds();
    ASSIGN_OR_RETURN(result, MeasureRun(request, subject_.get(), context_.noise,
                                        context_.speed));
    if (copies_ != nullptr) copy_s += copies_->PassSeconds();
  }
  SetTiming(result, row);
  if (copies_ != nullptr && row->has_core_speed()) {
    row->mutable_core_speed()->set_copy_bytes_per_s(2.0 * copies_->bytes() /
                                                    copy_s);
  }
  AddMeasured(result.timing, row);
  return absl::OkStatus();
}

absl::Status TransformWork::MeasureDistrusted(const RunRequest& request,
                                              Row* row) {
  distrusted_->Forget();
  RunResult result;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kTimed);
    ASSIGN_OR_RETURN(result, MeasureRun(request, distrusted_, context_.noise,
                                        /*speed=*/nullptr));
  }
  RETURN_IF_ERROR(distrusted_->FindFault());
  const TimeAccount::Entry entry(context_.account, Spending::kEquivalence);
  std::optional<TrustedReference> reference;
  const std::optional<Job> other = context_.equivalence->ReferenceJob(job_);
  if (other.has_value()) {
    reference.emplace();
    reference->job = *other;
    ASSIGN_OR_RETURN(reference->server, context_.servers->Get(*other));
  }
  ASSIGN_OR_RETURN(*row->mutable_equivalence(),
                   CheckKept(context_, job_, distrusted_->kept(),
                             reference.has_value() ? &*reference : nullptr,
                             PrepareLimit(context_)));
  SetTiming(result, row);
  SetLimit("hand-over", 1 / std::max(distrusted_->handover_s(), 1e-9), row);
  return absl::OkStatus();
}

bool TransformWork::IsPartial() const {
  const auto& partial =
      context_.catalogue.policy().coverage().partial_transforms();
  return std::find(partial.begin(), partial.end(), job_.transform()) !=
         partial.end();
}

void TransformWork::AddGpu(const TimeReply& timing, Row* row) {
  GpuRowInput input;
  input.settings = policy_.gpu;
  // The input of an engine is in no cache anyway.
  if (IsDecodeJob(job_)) input.settings.cold = false;
  input.slow_clock = context_.catalogue.policy().measuring().gpu().slow_clock();
  input.locked_clock_mhz = context_.identity.locked_clock_mhz;
  input.copy_bytes_per_s = device_copy_bytes_per_s_;
  input.warm = warm_up_.stable;
  input.partial = IsPartial();
  // The matrix already sets this label for some libraries.
  const auto& labels = job_.labels();
  input.per_sample_loop =
      per_sample_loop_ && std::find(labels.begin(), labels.end(),
                                    "per_sample_loop") == labels.end();
  SetGpu(input, timing, row);
}

void TransformWork::AddMeasured(const TimeReply& timing, Row* row) {
  const ProcessCounters counters =
      ReadProcessCounters(Root(), static_cast<pid_t>(child_->pid()));
  if (counters.rss_peak_bytes.has_value()) {
    row->set_rss_peak_bytes(*counters.rss_peak_bytes);
  }
  if (timing.has_device()) AddGpu(timing, row);
  if (OnGpu(job_) || IsNullJob(job_)) return;
  if (IsDecodeJob(job_)) {
    EngineUse engine;
    engine.decodes = OnEngine(job_);
    engine.clips_per_s = context_.engines->Get(input_.fd, kSessions);
    engine.cpu_frames = timing.device().cpu_frames();
    return AddDecode(context_, input_, decode_, engine, row);
  }
  const std::optional<double> limit =
      copy_limit_->Of(job_, *input_.corpus, row->throughput());
  if (limit.has_value()) SetLimit("copy", *limit, row);
}

void TransformWork::End() {
  distrusted_ = nullptr;
  subject_ = nullptr;
  child_ = nullptr;
}

class TransformMode : public JobMode {
 public:
  bool Covers(const Job& job) const override {
    return job.mode() == "micro" || IsDecodeJob(job);
  }
  // A process that waits holds memory of a GPU, but no processor.
  bool SpreadsRuns(const Job& job) const override {
    return job.device() == "cpu";
  }
  absl::Status LoadInput(const RunInputs& inputs, const Job& job) override {
    return inputs.corpora->Get(job).status();
  }
  std::unique_ptr<JobWork> MakeWork(const RunContext& context, const Job& job,
                                    const JobPolicy& policy) override {
    if (copy_limit_ == nullptr) {
      copy_limit_ = std::make_unique<CopyLimit>(context.catalogue);
    }
    return std::make_unique<TransformWork>(context, job, policy,
                                           copy_limit_.get());
  }

 private:
  std::unique_ptr<CopyLimit> copy_limit_;
};

}  // namespace

std::shared_ptr<JobMode> MakeTransformMode() {
  return std::make_shared<TransformMode>();
}

}  // namespace feedrate
