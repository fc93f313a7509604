#include "lib/loader/nvdec/nvdec_loader.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/cuda/device_memory.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/batch_queue.h"
#include "lib/loader/cuda/device_block.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/fault_list.h"
#include "lib/loader/nvdec/clip_maker.h"
#include "lib/loader/nvdec/engine_rate.h"
#include "lib/loader/nvdec/taken_memory.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

using Makers = std::vector<std::unique_ptr<ClipMaker>>;

// Files in a row that cannot be used: then it is no accident.
constexpr int kMostFaults = 16;
// Batches besides those that are worked ahead: one that the consumer has, and
// one that the fastest threads begin.
constexpr int kMoreSlots = 2;

// What an epoch works on.
struct ClipContext {
  const std::vector<SourceFile>& files;
  const Makers& makers;
  // Floats of a clip.
  int64_t values = 0;
  bool skip_faults = true;
};

// Makes the item for `position` of the epoch, or the next one that can be used;
// a fault is told.
absl::Status MakeUsable(const ClipContext& context, int64_t position,
                        int64_t item, uint64_t seed, ClipMaker* maker,
                        float* out, FaultList* faults) {
  const auto count = static_cast<int64_t>(context.files.size());
  for (int i = 0; i < kMostFaults; ++i) {
    const int64_t at = (item + i) % count;
    const SourceFile& file = context.files[at];
    const absl::Status made = maker->Make(file, ItemRandom(seed, at), out);
    if (made.ok()) return made;
    // What is wrong with the device is wrong with every file.
    if (!context.skip_faults || !absl::IsInvalidArgument(made)) {
      return absl::Status(made.code(),
                          absl::StrCat(file.path, ": ", made.message()));
    }
    // Those behind it are told at their own places.
    if (i > 0) continue;
    faults->Add({position, at, file.path, std::string(made.message())});
  }
  return absl::InvalidArgumentError(
      absl::StrCat(context.files[item % count].path, ": it and the ",
                   kMostFaults - 1, " files after it cannot be used"));
}

class NvdecEpoch : public BatchStream {
 public:
  // All outlive it.
  NvdecEpoch(const ClipContext& context, const EpochCommand& command,
             int batch_size, const std::vector<DeviceBlock>& slots,
             TakenMemory* taken)
      : context_(context),
        command_(command),
        batch_size_(batch_size),
        slots_(slots),
        taken_(*taken),
        queue_(command.count, batch_size, static_cast<int>(slots.size())) {
    for (const std::unique_ptr<ClipMaker>& maker : context.makers) {
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
    StageTimes decode = {"decode", 0, 0, 0, 0};
    StageTimes augment = {"augment", 0, 0, 0, 0};
    for (const DeviceBlock& slot : slots_) {
      reply->gpu_allocated_bytes += slot.bytes();
    }
    for (size_t i = 0; i < started_.size(); ++i) {
      const ClipMaker& maker = *context_.makers[i];
      const auto& [times, cpu_frames] = started_[i];
      decode.busy_s += maker.times().decode_s - times.decode_s;
      augment.busy_s += maker.times().augment_s - times.augment_s;
      reply->cpu_frames += maker.cpu_frames() - cpu_frames;
      reply->gpu_allocated_bytes += maker.device_bytes();
    }
    reply->stages = {decode, augment};
    reply->gpu_reserved_bytes =
        std::max(reply->gpu_allocated_bytes, taken_.Look());
    ReportFaults(faults_, reply);
    return absl::OkStatus();
  }

 private:
  void Work(ClipMaker* maker) {
    const auto count = static_cast<int64_t>(context_.files.size());
    while (const std::optional<BatchQueue::Piece> piece = queue_.Take(1)) {
      const int64_t place = piece->places[0];
      auto* const out = reinterpret_cast<float*>(slots_[piece->slot].data()) +
                        place * context_.values;
      const int64_t position = piece->batch * batch_size_ + place;
      const int64_t item = (command_.first + position) % count;
      const absl::Status made = MakeUsable(context_, position, item,
                                           command_.seed, maker, out, &faults_);
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
  // Of each maker, when the epoch began.
  std::vector<std::pair<ClipTimes, int64_t>> started_;
  std::vector<std::thread> threads_;
};

class NvdecLoader : public PreparedLoader {
 public:
  NvdecLoader(const LoaderSpec& spec, GpuRecipe recipe,
              const std::vector<SourceFile>& files)
      : spec_(spec),
        recipe_(std::move(recipe)),
        frames_(static_cast<int64_t>(files[0].frames.size())),
        context_{files, makers_, frames_ * 3 * spec.crop * spec.crop,
                 spec.on_error != "fail"},
        slots_(std::max(1, spec.prefetch) + kMoreSlots) {}

  absl::Status Load() {
    const int threads = std::max(1, spec_.workers);
    ASSIGN_OR_RETURN(engine_rate_, EngineRate(context_.files, threads));
    taken_.emplace();
    for (DeviceBlock& slot : slots_) {
      RETURN_IF_ERROR(slot.ReserveExactly(spec_.batch_size * context_.values *
                                          static_cast<int64_t>(sizeof(float))));
    }
    for (int i = 0; i < threads; ++i) {
      ASSIGN_OR_RETURN(makers_.emplace_back(), ClipMaker::Create(recipe_));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    EpochCommand whole = command;
    if (spec_.drop_last) whole.count -= whole.count % spec_.batch_size;
    if (whole.count < 1) {
      return absl::InvalidArgumentError("no batch of that size is whole");
    }
    return TimeEpoch(command,
                     [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
                       return std::make_unique<NvdecEpoch>(
                           context_, whole, static_cast<int>(spec_.batch_size),
                           slots_, &*taken_);
                     });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    auto* const out = reinterpret_cast<float*>(slots_[0].data());
    const int64_t at = item % static_cast<int64_t>(context_.files.size());
    RETURN_IF_ERROR(
        makers_[0]->Make(context_.files[at], ItemRandom(seed, at), out));
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
    output.shape = {frames_, 3, spec_.crop, spec_.crop};
    return output;
  }

  double EngineItemsPerSecond() override { return engine_rate_; }

 private:
  const LoaderSpec spec_;
  const GpuRecipe recipe_;
  // Of a clip.
  const int64_t frames_;
  Makers makers_;
  const ClipContext context_;
  std::vector<DeviceBlock> slots_;
  std::optional<TakenMemory> taken_;
  double engine_rate_ = 0;
  std::vector<float> sample_;
};

absl::Status CheckSpec(const TransformSpec& spec,
                       const std::vector<SourceFile>& files) {
  const LoaderSpec& loader = *spec.loader;
  if (spec.device != "cuda" || loader.source != "files" ||
      !loader.ablation.empty() || loader.shuffle) {
    return absl::InvalidArgumentError(
        "the loader of nvdec reads videos to device cuda, in order and with "
        "nothing left out");
  }
  for (const auto& [name, value] : loader.settings) {
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
    const TransformSpec& spec, const std::vector<SourceFile>& files) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  RETURN_IF_ERROR(CheckSpec(spec, files));
  ASSIGN_OR_RETURN(GpuRecipe recipe, GpuRecipe::Create(spec));
  if (recipe.mixes()) {
    return absl::InvalidArgumentError("the loader of nvdec mixes no clips");
  }
  // Threads that wait for the device leave the processor to those that parse.
  // An error says that the device is in use already, as after another job.
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  cudaGetLastError();
  auto made =
      std::make_unique<NvdecLoader>(*spec.loader, std::move(recipe), files);
  RETURN_IF_ERROR(made->Load());
  return made;
}

}  // namespace feedrate
