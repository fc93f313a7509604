#include "lib/adapters/nvdec/nvdec_loader.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lib/adapters/native/loader_job.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/cuda/gpu_clips.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/epoch_report.h"
#include "lib/media/video/nvdec/nvdec_reader.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/params.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using Makers = std::vector<std::unique_ptr<GpuClipMaker>>;

// Number of unusable files in a row that ends the epoch.
constexpr int kMostFaults = 16;
// Batches besides the prefetched ones: one for the consumer, and one that the
// fastest threads start.
constexpr int kMoreSlots = 2;

// Inputs of an epoch.
struct ClipContext {
  const std::vector<SourceFile>& files;
  const Makers& makers;
  // Floats per clip.
  int64_t values = 0;
  bool skip_faults = true;
};

absl::Status MakeClip(const SourceFile& file, Random random,
                      GpuClipMaker* maker, float* out) {
  RETURN_IF_ERROR(maker->Open({file.path, {}}).status());
  return maker->Make(file.frames, random, out, /*place=*/0);
}

// Makes the item for `position` of the epoch, or the next usable one, and
// reports a fault.
absl::Status MakeUsable(const ClipContext& context, int64_t position,
                        int64_t item, uint64_t seed, GpuClipMaker* maker,
                        float* out, FaultList* faults) {
  const auto count = static_cast<int64_t>(context.files.size());
  for (int i = 0; i < kMostFaults; ++i) {
    const int64_t at = (item + i) % count;
    const SourceFile& file = context.files[at];
    const absl::Status made = MakeClip(file, ItemRandom(seed, at), maker, out);
    if (made.ok()) return made;
    // Device errors affect every file.
    if (!context.skip_faults || !absl::IsInvalidArgument(made)) {
      return absl::Status(made.code(),
                          absl::StrCat(file.path, ": ", made.message()));
    }
    // Faults of the following items are reported at their own positions.
    if (i > 0) continue;
    faults->Add({position, at, file.path, std::string(made.message())});
  }
  return absl::InvalidArgumentError(
      absl::StrCat(context.files[item % count].path, ": it and the ",
                   kMostFaults - 1, " files after it cannot be used"));
}

class NvdecEpoch : public BatchStream {
 public:
  // All must outlive it.
  NvdecEpoch(const ClipContext& context, const EpochCommand& command,
             int batch_size, const std::vector<DeviceBlock>& slots,
             TakenMemory* taken)
      : context_(context),
        command_(command),
        batch_size_(batch_size),
        slots_(slots),
        taken_(*taken),
        queue_(command.count(), batch_size, static_cast<int>(slots.size())) {
    for (const std::unique_ptr<GpuClipMaker>& maker : context.makers) {
      started_.push_back({maker->times(), maker->cpu_frames()});
      threads_.emplace_back([this, made = maker.get()] { Work(made); });
    }
  }
  ~NvdecEpoch() override { Join(); }

  absl::StatusOr<Batch> Next() override {
    ASSIGN_OR_RETURN(const std::optional<BatchQueue::Batch> batch,
                     queue_.Next());
    if (!batch.has_value()) return Batch();
    return Batch{batch->count, batch->count * context_.values *
                                   static_cast<int64_t>(sizeof(float))};
  }

  absl::Status Finish(EpochReply* reply) override {
    Join();
    StageReport decode = {"decode"};
    StageReport augment = {"augment"};
    double sync_s = 0;
    int64_t bytes = 0;
    int64_t left = 0;
    for (const DeviceBlock& slot : slots_) bytes += slot.bytes();
    for (size_t i = 0; i < started_.size(); ++i) {
      const GpuClipMaker& maker = *context_.makers[i];
      const auto& [times, cpu_frames] = started_[i];
      decode.busy_s += maker.times().decode_s - times.decode_s;
      augment.busy_s += maker.times().augment_s - times.augment_s;
      sync_s += maker.times().sync_s - times.sync_s;
      left += maker.cpu_frames() - cpu_frames;
      bytes += maker.device_bytes();
    }
    ReportStages({decode, augment}, reply);
    reply->set_sync_s(sync_s);
    reply->set_sync_threads(static_cast<int64_t>(started_.size()));
    reply->set_gpu_allocated_bytes(bytes);
    reply->set_gpu_reserved_bytes(std::max(bytes, taken_.Look()));
    if (left > 0) reply->set_cpu_frames(left);
    ReportFaults(faults_, reply);
    return absl::OkStatus();
  }

 private:
  void Work(GpuClipMaker* maker) {
    const auto count = static_cast<int64_t>(context_.files.size());
    while (const std::optional<BatchQueue::Piece> piece = queue_.Take(1)) {
      const int64_t place = piece->places[0];
      auto* const out = reinterpret_cast<float*>(slots_[piece->slot].data()) +
                        place * context_.values;
      const int64_t position = piece->batch * batch_size_ + place;
      const int64_t item = (command_.first() + position) % count;
      const absl::Status made = MakeUsable(
          context_, position, item, command_.seed(), maker, out, &faults_);
      if (!made.ok()) return queue_.Fail(made);
      queue_.Done(*piece);
    }
  }

  void Join() {
    queue_.Fail(absl::OkStatus());
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const ClipContext& context_;
  const EpochCommand command_;
  const int batch_size_;
  const std::vector<DeviceBlock>& slots_;
  TakenMemory& taken_;
  BatchQueue queue_;
  FaultList faults_;
  // Values of each maker at the start of the epoch.
  std::vector<std::pair<GpuClipTimes, int64_t>> started_;
  std::vector<std::thread> threads_;
};

class NvdecLoader : public PreparedLoader {
 public:
  NvdecLoader(const LoaderSpec& spec, GpuRecipe recipe,
              const std::vector<SourceFile>& files)
      : spec_(spec),
        recipe_(std::move(recipe)),
        frames_(static_cast<int64_t>(files[0].frames.size())),
        context_{files, makers_, frames_ * 3 * spec.crop() * spec.crop(),
                 spec.on_error() != "fail"},
        slots_(std::max(1, spec.prefetch()) + kMoreSlots) {}

  absl::Status Load() {
    const int threads = std::max(1, spec_.workers());
    ASSIGN_OR_RETURN(engine_rate_, EngineRate(context_.files, threads));
    taken_.emplace();
    for (DeviceBlock& slot : slots_) {
      RETURN_IF_ERROR(slot.ReserveExactly(spec_.batch_size() * context_.values *
                                          static_cast<int64_t>(sizeof(float))));
    }
    for (int i = 0; i < threads; ++i) {
      ASSIGN_OR_RETURN(makers_.emplace_back(),
                       GpuClipMaker::Create(recipe_, NvdecReader::Create));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    EpochCommand whole = command;
    if (spec_.drop_last()) {
      whole.set_count(whole.count() - whole.count() % spec_.batch_size());
    }
    if (whole.count() < 1) {
      return absl::InvalidArgumentError("no batch of that size is whole");
    }
    return TimeEpoch(
        command, [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
          return std::make_unique<NvdecEpoch>(
              context_, whole, static_cast<int>(spec_.batch_size()), slots_,
              &*taken_);
        });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    auto* const out = reinterpret_cast<float*>(slots_[0].data());
    const int64_t at = item % static_cast<int64_t>(context_.files.size());
    RETURN_IF_ERROR(MakeClip(context_.files[at], ItemRandom(seed, at),
                             makers_[0].get(), out));
    sample_.resize(context_.values);
    RETURN_IF_ERROR(CudaStatus(
        cudaMemcpy(sample_.data(), out, sample_.size() * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "cudaMemcpy"));
    Output output;
    output.data = sample_.data();
    output.bytes = static_cast<int64_t>(sample_.size() * sizeof(float));
    output.dtype = "float32";
    output.layout = "TCHW";
    output.shape = {frames_, 3, spec_.crop(), spec_.crop()};
    return output;
  }

  double EngineItemsPerSecond() override { return engine_rate_; }

 private:
  const LoaderSpec spec_;
  const GpuRecipe recipe_;
  // Frames per clip.
  const int64_t frames_;
  Makers makers_;
  const ClipContext context_;
  std::vector<DeviceBlock> slots_;
  std::optional<TakenMemory> taken_;
  double engine_rate_ = 0;
  std::vector<float> sample_;
};

absl::Status CheckSpec(const PrepareCommand& spec,
                       const std::vector<SourceFile>& files) {
  const LoaderSpec& loader = spec.loader();
  if (spec.device() != "cuda" || loader.source() != "files" ||
      !loader.ablation().empty() || loader.shuffle()) {
    return absl::InvalidArgumentError(
        "the loader of nvdec reads videos to device cuda, in order and with "
        "nothing left out");
  }
  for (const auto& [name, value] : loader.settings()) {
    if (name == "clip_rule" || name == "decoder") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("nvdec knows no setting ", name));
  }
  for (const SourceFile& file : files) {
    if (!file.frames.empty() && file.frames.size() == files[0].frames.size()) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        file.path, ": its clip has not as many frames as the first"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeNvdecLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  RETURN_IF_ERROR(CheckSpec(spec, files));
  ASSIGN_OR_RETURN(GpuRecipe recipe, GpuRecipeOf(spec));
  if (recipe.mixes()) {
    return absl::InvalidArgumentError("the loader of nvdec mixes no clips");
  }
  // Threads that wait for the device leave the processor to those that parse.
  // An error means that the device is already in use, for example after another
  // job.
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  cudaGetLastError();
  auto made =
      std::make_unique<NvdecLoader>(spec.loader(), std::move(recipe), files);
  RETURN_IF_ERROR(made->Load());
  return made;
}

namespace {

constexpr size_t kClips = 6;
constexpr int kPasses = 2;

// Seconds for decoding the clip of `file`.
absl::StatusOr<double> TimeOf(const SourceFile& file, NvdecReader* reader) {
  RETURN_IF_ERROR(reader->Open({file.path, {}}).status());
  const int64_t start = MonotonicNs();
  RETURN_IF_ERROR(reader->Read(file.frames, nullptr));
  return static_cast<double>(MonotonicNs() - start) * 1e-9;
}

// Rate of one thread.
absl::StatusOr<double> RateOf(const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSIGN_OR_RETURN(const std::unique_ptr<NvdecReader> reader,
                   NvdecReader::Create(stream.get()));
  // The first call creates the session.
  RETURN_IF_ERROR(TimeOf(files[0], reader.get()).status());
  const size_t clips = std::min(files.size(), kClips);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    double seconds = 0;
    for (size_t i = 0; i < clips; ++i) {
      ASSIGN_OR_RETURN(const double one, TimeOf(files[i], reader.get()));
      seconds += one;
    }
    best = std::max(best, static_cast<double>(clips) / std::max(seconds, 1e-9));
  }
  return best;
}

}  // namespace

absl::StatusOr<double> EngineRate(const std::vector<SourceFile>& files,
                                  int threads) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  std::vector<absl::StatusOr<double>> rates(std::max(1, threads), 0.0);
  std::vector<std::thread> running;
  for (absl::StatusOr<double>& rate : rates) {
    running.emplace_back([&files, &rate] { rate = RateOf(files); });
  }
  for (std::thread& thread : running) thread.join();
  double sum = 0;
  for (const absl::StatusOr<double>& rate : rates) {
    RETURN_IF_ERROR(rate.status());
    sum += *rate;
  }
  return sum;
}

}  // namespace feedrate
