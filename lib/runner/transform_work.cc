#include "lib/runner/transform_work.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/reference/pixels.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/clip_frames.h"
#include "lib/runner/decode_row.h"
#include "lib/runner/equivalence_check.h"
#include "lib/runner/fits_together.h"
#include "lib/runner/gpu_row.h"
#include "lib/runner/gpu_settings.h"
#include "lib/runner/null_job.h"
#include "lib/runner/prepare_command.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// So many times what is expected, before an answer is missing; as MeasureRun.
constexpr double kPatience = 10;

// Of an engine: a call is one clip.
constexpr int kSessions = 1;

}  // namespace

absl::StatusOr<int64_t> TransformWork::OwnBytes() {
  ASSIGN_OR_RETURN(const InputCorpora::Input input,
                   context_.corpora->Get(job_));
  return feedrate::OwnBytes(context_.catalogue, job_,
                            input.plain->file_bytes());
}

absl::StatusOr<int64_t> TransformWork::GpuBytes() {
  if (!OnGpu(job_)) return 0;
  ASSIGN_OR_RETURN(const InputCorpora::Input input,
                   context_.corpora->Get(job_));
  return kGpuBytesOfAnyChild + input.corpus->file_bytes();
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
  ASSIGN_OR_RETURN(child_,
                   MeasuredChild::Spawn(server, job_.library(), input_.fd,
                                        context_.limits.memory_bytes));
  ASSIGN_OR_RETURN(const PrepareReply reply,
                   child_->Prepare(command, PrepareLimit(context_)));
  version_ = reply.version;
  device_copy_bytes_per_s_ = reply.device_copy_bytes_per_s;
  context_.loader_limits->NoteEngine(input_.fd, kSessions,
                                     reply.engine_items_per_s);
  per_sample_loop_ = reply.per_sample_loop;
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s);
  return absl::OkStatus();
}

absl::StatusOr<Preflight> TransformWork::LookAhead() {
  if (OnGpu(job_) || OnEngine(job_)) {
    // The first call loads kernels, for tenths of a second with some libraries;
    // the preflight is to see the transform.
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
  // What is slow is not hanging: the preflight knows how slow it is.
  const double expected_s =
      per_item_s_ * context_.catalogue.policy().measuring().compared_items();
  const absl::Duration limit =
      absl::Seconds(policy_.warm_up.hang_s + kPatience * expected_s);
  if (IsDecodeJob(job_)) {
    return CheckDecoder(context_, job_, input_, limit, child_.get(), &decode_);
  }
  ComparedItems items;
  items.count = input_.plain->size();
  items.sha256 = input_.dataset.sha256();
  items.item = [this](int64_t i, int frame) -> absl::StatusOr<Pixels> {
    const ImageView image = FrameOfItem(*input_.plain, i, frame);
    return PixelsFromBytes(image.data, image.height, image.width,
                           image.channels);
  };
  return context_.equivalence->Check(job_, version_, items, limit,
                                     child_.get());
}

absl::Status TransformWork::WarmUp() {
  ASSIGN_OR_RETURN(warm_up_, RunWarmUp(policy_.warm_up, num_items_,
                                       SeedOfRun(job_, 0), subject_.get()));
  return absl::OkStatus();
}

absl::Status TransformWork::Measure(int run_index, Row* row) {
  RunRequest request;
  request.num_items = num_items_;
  request.chunk = policy_.chunk;
  // Its row is to say what one timing costs, so the clock is read each time.
  if (IsNullJob(job_)) request.chunk.chunk_below_s = 0;
  request.per_call_s = warm_up_.per_item_s;
  request.seed = SeedOfRun(job_, run_index);
  request.rewarm_items = policy_.warm_up.subset_items;
  request.hang_s = policy_.warm_up.hang_s;
  request.cold = OnGpu(job_) && policy_.gpu.cold;
  RunResult result;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kTimed);
    ASSIGN_OR_RETURN(result,
                     MeasureRun(request, subject_.get(), context_.noise));
  }
  SetTiming(result, row);
  AddMeasured(result.timing, row);
  return absl::OkStatus();
}

bool TransformWork::IsPartial() const {
  const auto& partial =
      context_.catalogue.policy().coverage().partial_transforms();
  return std::find(partial.begin(), partial.end(), job_.transform()) !=
         partial.end();
}

void TransformWork::AddGpu(const Timing& timing, Row* row) {
  GpuRowInput input;
  input.settings = policy_.gpu;
  // What an engine decodes is in no cache to begin with.
  if (IsDecodeJob(job_)) input.settings.cold = false;
  input.slow_clock = context_.catalogue.policy().measuring().gpu().slow_clock();
  input.copy_bytes_per_s = device_copy_bytes_per_s_;
  input.warm = warm_up_.stable;
  input.partial = IsPartial();
  // The matrix says so of some libraries already.
  const auto& labels = job_.labels();
  input.per_sample_loop =
      per_sample_loop_ && std::find(labels.begin(), labels.end(),
                                    "per_sample_loop") == labels.end();
  SetGpu(input, timing, row);
}

void TransformWork::AddMeasured(const Timing& timing, Row* row) {
  const ProcessCounters counters =
      ReadProcessCounters(Root(), static_cast<pid_t>(child_->pid()));
  if (counters.rss_peak_bytes.has_value()) {
    row->set_rss_peak_bytes(*counters.rss_peak_bytes);
  }
  if (timing.gpu.has_value()) AddGpu(timing, row);
  if (OnGpu(job_) || IsNullJob(job_)) return;
  if (IsDecodeJob(job_)) {
    EngineUse engine;
    engine.decodes = OnEngine(job_);
    engine.clips_per_s = context_.loader_limits->Engine(input_.fd, kSessions);
    if (timing.gpu.has_value()) engine.cpu_frames = timing.gpu->cpu_frames;
    return AddDecode(context_, input_, decode_, engine, row);
  }
  const std::optional<double> limit =
      context_.copy_limit->Of(job_, *input_.corpus);
  if (limit.has_value()) SetLimit("copy", *limit, row);
}

void TransformWork::End() {
  subject_ = nullptr;
  child_ = nullptr;
}

}  // namespace feedrate
