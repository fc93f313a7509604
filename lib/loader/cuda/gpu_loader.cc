#include "lib/loader/cuda/gpu_loader.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/chunk_maker.h"
#include "lib/loader/cuda/device_blocks.h"
#include "lib/loader/jpeg_index.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

// Batches that may exist besides the prefetched ones: one for the consumer, the
// others for threads that are ahead of the slowest.
constexpr int kMoreSlots = 5;

// Batches that the consumer's streams may still be using, besides those that it
// has. A loop that is further ahead of the device waits.
constexpr size_t kMostFree = 4;

// What an epoch takes, and in which order.
struct EpochPlan {
  uint64_t seed = 0;
  int64_t epoch = 0;
  ItemOrder order;
  // As in BatchRingOptions.
  bool splits_last = false;
  int64_t first_mix = 0;
  int64_t mix_step = 1;
};

using Slots = std::vector<std::unique_ptr<MemoryBlock>>;

class GpuEpoch {
 public:
  // All but the plan must outlive it.
  GpuEpoch(const std::vector<std::unique_ptr<ChunkMaker>>& makers,
           const ChunkContext& context, EpochPlan plan, int batch_size,
           int device, Slots* slots)
      : plan_(std::move(plan)),
        source_(context.source),
        recipe_(context.recipe),
        batch_size_(batch_size),
        shape_(context.recipe.shape()),
        device_(device),
        slots_(*slots),
        items_(slots->size(), std::vector<int64_t>(batch_size)),
        queue_(plan_.order.count(), batch_size, static_cast<int>(slots->size()),
               context.recipe.mixes(), CostOf(makers, context),
               plan_.splits_last) {
    for (const std::unique_ptr<ChunkMaker>& maker : makers) {
      started_.push_back(maker->times());
      threads_.emplace_back([this, made = maker.get()] { Work(made); });
      makers_.push_back(maker.get());
    }
  }
  ~GpuEpoch() { Join(); }

  absl::StatusOr<DeviceBatch> Next() {
    ASSIGN_OR_RETURN(const std::optional<BatchQueue::Batch> made,
                     queue_.Next());
    DeviceBatch batch;
    if (!made.has_value()) return batch;
    batch.count = made->count;
    batch.data = slots_[made->slot]->data();
    batch.items = ItemsOf(*made);
    return batch;
  }

  absl::StatusOr<std::unique_ptr<KeptBatch>> NextKept(
      const std::shared_ptr<BlockPool>& pool, BatchMemory* memory) {
    ASSIGN_OR_RETURN(const std::optional<BatchQueue::Batch> made,
                     queue_.Next());
    if (!made.has_value()) return nullptr;
    const size_t bytes = batch_size_ * shape_.bytes();
    ASSIGN_OR_RETURN(std::unique_ptr<MemoryBlock> block,
                     pool->Take(bytes, memory));
    // No maker looks at the slot before it is given back.
    std::swap(block, slots_[made->slot]);
    LoaderBatch batch;
    batch.index = delivered_++;
    batch.data = block->data();
    batch.size = made->count;
    batch.shape = shape_;
    batch.items = ItemsOf(*made);
    batch.mix = MixOf(batch.index);
    queue_.GiveBack();
    return std::make_unique<KeptBatch>(std::move(batch), std::move(block),
                                       bytes, pool);
  }

  bool WaitFor(double seconds) { return queue_.WaitFor(seconds); }

  // Ends it early: there are no more batches.
  void Join() {
    queue_.Fail(absl::OkStatus());
    const CancelledReads cancelled(source_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const FaultList& faults() const { return faults_; }

  // REQUIRES: Join was called.
  DeviceEpochReport report() const {
    ChunkTimes sum;
    DeviceEpochReport report;
    report.threads = static_cast<int64_t>(makers_.size());
    report.device_bytes =
        static_cast<int64_t>(slots_.size()) * batch_size_ * shape_.bytes();
    for (size_t i = 0; i < makers_.size(); ++i) {
      sum.read_s += makers_[i]->times().read_s - started_[i].read_s;
      sum.decode_s += makers_[i]->times().decode_s - started_[i].decode_s;
      sum.augment_s += makers_[i]->times().augment_s - started_[i].augment_s;
      sum.sync_s += makers_[i]->times().sync_s - started_[i].sync_s;
      report.device_bytes += makers_[i]->device_bytes();
    }
    report.stages = {{"read", sum.read_s},
                     {"decode", sum.decode_s},
                     {"augment", sum.augment_s}};
    report.sync_s = sum.sync_s;
    return report;
  }

 private:
  // Divides the work between CPU and engines if there are both.
  BatchQueue::Cost CostOf(
      const std::vector<std::unique_ptr<ChunkMaker>>& makers,
      const ChunkContext& context) {
    const auto by_cpu = [](const auto& maker) { return maker->by_cpu(); };
    if (std::all_of(makers.begin(), makers.end(), by_cpu) ||
        std::none_of(makers.begin(), makers.end(), by_cpu)) {
      return nullptr;
    }
    return [this, &cost = context.cost](int64_t position) {
      return cost.Of(plan_.order.Item(position), plan_.seed, plan_.epoch);
    };
  }

  MixPlan MixOf(int64_t batch) const {
    return recipe_.DrawPlan(
        plan_.seed, plan_.first_mix + batch * plan_.mix_step, plan_.epoch);
  }

  std::vector<int64_t> ItemsOf(const BatchQueue::Batch& batch) const {
    const std::vector<int64_t>& items = items_[batch.slot];
    return {items.begin(), items.begin() + batch.count};
  }

  void Work(ChunkMaker* maker) {
    const OnDevice on(device_);
    while (const std::optional<BatchQueue::Piece> piece =
               queue_.Take(maker->chunk(), maker->end())) {
      const absl::Status made =
          maker->Make(ChunkOf(*piece), &faults_, items_[piece->slot].data());
      if (absl::IsCancelled(made)) return;  // By Join.
      if (!made.ok()) return queue_.Fail(made);
      queue_.Done(*piece);
    }
  }

  GpuChunk ChunkOf(const BatchQueue::Piece& piece) const {
    GpuChunk chunk;
    chunk.piece = piece;
    for (const int place : piece.places) {
      chunk.positions.push_back(piece.first + place);
      chunk.items.push_back(plan_.order.Item(chunk.positions.back()));
    }
    chunk.seed = plan_.seed;
    chunk.epoch = plan_.epoch;
    chunk.mix = MixOf(piece.batch);
    chunk.batch = slots_[piece.slot]->data();
    return chunk;
  }

  const EpochPlan plan_;
  const Source& source_;
  const GpuRecipe& recipe_;
  const int64_t batch_size_;
  const SampleShape shape_;
  const int device_;
  Slots& slots_;
  // Per slot: the item of each sample.
  std::vector<std::vector<int64_t>> items_;
  BatchQueue queue_;
  int64_t delivered_ = 0;  // By NextKept.
  FaultList faults_;
  std::vector<ChunkMaker*> makers_;
  std::vector<ChunkTimes> started_;
  std::vector<std::thread> threads_;
};

class GpuLoader : public DeviceLoader {
 public:
  GpuLoader(std::unique_ptr<Source> source, const LoaderOptions& options,
            GpuRecipe recipe)
      : options_(options),
        recipe_(std::move(recipe)),
        source_(std::move(source)),
        cost_(*source_, recipe_),
        context_{*source_, recipe_, cost_, options.on_error == OnError::kSkip},
        slots_(std::max(1, options.buffers) + kMoreSlots) {}

  absl::Status Load(const GpuLoaderOptions& options) {
    RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device_), "cudaGetDevice"));
    for (std::unique_ptr<MemoryBlock>& slot : slots_) {
      ASSIGN_OR_RETURN(slot, memory_.Allocate(options_.batch_size *
                                              recipe_.shape().bytes()));
    }
    if (!options_.jpeg_index.empty() && !source_->in_memory()) {
      ASSIGN_OR_RETURN(index_, JpegIndex::Open(options_.jpeg_index));
      index_problem_ = index_->problem();
      context_.index = index_.get();
    } else {
      RETURN_IF_ERROR(AddEngines(kNvjpegHardware, options.hardware_threads));
      RETURN_IF_ERROR(AddEngines(kNvjpegGpuHybrid, options.gpu_threads));
    }
    for (int i = 0; i < options.workers; ++i) {
      RETURN_IF_ERROR(AddMaker(nullptr));
    }
    // Without an engine the CPU must decode.
    return makers_.empty() ? AddMaker(nullptr) : absl::OkStatus();
  }

  SampleShape shape() const override { return recipe_.shape(); }

  absl::Status StartEpoch(uint64_t seed, EpochRange range) override {
    epoch_ = nullptr;
    int64_t count = range.count < 0 ? source_->size() : range.count;
    if (options_.drop_last) count -= count % options_.batch_size;
    if (count < 1) {
      return absl::InvalidArgumentError("no batch of that size is whole");
    }
    epoch_ = Run({seed, /*epoch=*/0,
                  ItemOrder(range.first, count, source_->size(),
                            options_.shuffle, seed, /*epoch=*/0)});
    return absl::OkStatus();
  }
  absl::Status StartShare(uint64_t seed, int64_t epoch,
                          const EpochShare& share) override {
    epoch_ = nullptr;
    const int64_t items = source_->size();
    const int64_t count = share.Count(items, options_.batch_size);
    // Without samples there is nothing to start.
    if (count == 0) return absl::OkStatus();
    EpochPlan plan = {
        seed, epoch,
        ItemOrder(share, count, items, options_.shuffle, seed, epoch)};
    plan.splits_last = share.Splits(items, options_.batch_size) &&
                       count % options_.batch_size == 0;
    plan.first_mix = share.start + share.rank;
    plan.mix_step = share.world * options_.batch_size;
    epoch_ = Run(std::move(plan));
    return absl::OkStatus();
  }
  void EndEpoch() override {
    if (epoch_ == nullptr) return;
    epoch_->Join();
    SaveIndex();
  }
  std::string index_problem() const override { return index_problem_; }

  absl::StatusOr<DeviceBatch> Next() override {
    ASSIGN_OR_RETURN(DeviceBatch batch, epoch_->Next());
    if (batch.count == 0) SaveIndex();
    return batch;
  }
  absl::StatusOr<std::unique_ptr<KeptBatch>> NextKept() override {
    if (epoch_ == nullptr) return nullptr;
    const OnDevice on(device_);
    ASSIGN_OR_RETURN(std::unique_ptr<KeptBatch> batch,
                     epoch_->NextKept(pool_, &memory_));
    if (batch == nullptr) SaveIndex();
    return batch;
  }
  bool WaitFor(double seconds) override {
    return epoch_ == nullptr || epoch_->WaitFor(seconds);
  }
  const FaultList& faults() const override {
    return epoch_ == nullptr ? no_faults_ : epoch_->faults();
  }

  DeviceEpochReport report() const override { return epoch_->report(); }

  absl::Status MakeSample(int64_t item, uint64_t seed, float* out) override {
    if (item < 0 || item >= source_->size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no item ", item));
    }
    FaultList faults;
    GpuChunk chunk;
    chunk.piece.size = 1;
    chunk.piece.places = {0};
    chunk.positions = {0};
    chunk.items = {item};
    chunk.seed = seed;
    chunk.batch = slots_[0]->data();
    RETURN_IF_ERROR(makers_.back()->Make(chunk, &faults));
    return CudaStatus(
        cudaMemcpy(out, chunk.batch, recipe_.shape().values() * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  }

 private:
  std::unique_ptr<GpuEpoch> Run(EpochPlan plan) {
    return std::make_unique<GpuEpoch>(makers_, context_, std::move(plan),
                                      options_.batch_size, device_, &slots_);
  }

  void SaveIndex() {
    if (index_ == nullptr) return;
    const absl::Status saved = index_->Save();
    if (!saved.ok()) index_problem_ = std::string(saved.message());
  }

  // Skips engines that the device does not have: the CPU decodes instead.
  absl::Status AddEngines(NvjpegBackend backend, int threads) {
    if (threads == 0) return absl::OkStatus();
    if (nvjpeg_ == nullptr) {
      ASSIGN_OR_RETURN(nvjpeg_, NvJpeg::Load());
    }
    for (int i = 0; i < threads; ++i) {
      absl::StatusOr<std::unique_ptr<NvJpegDecoder>> decoder =
          NvJpegDecoder::Create(*nvjpeg_, backend);
      if (absl::IsUnavailable(decoder.status())) return absl::OkStatus();
      RETURN_IF_ERROR(decoder.status());
      RETURN_IF_ERROR(AddMaker(*std::move(decoder)));
    }
    return absl::OkStatus();
  }

  absl::Status AddMaker(std::unique_ptr<NvJpegDecoder> decoder) {
    ASSIGN_OR_RETURN(makers_.emplace_back(),
                     ChunkMaker::Create(context_, std::move(decoder)));
    return absl::OkStatus();
  }

  const LoaderOptions options_;
  const GpuRecipe recipe_;
  const std::unique_ptr<Source> source_;
  DecodeCost cost_;
  // Null unless the options name one.
  std::unique_ptr<JpegIndex> index_;
  std::string index_problem_;
  ChunkContext context_;
  int device_ = 0;
  DeviceBlocks memory_;
  const std::shared_ptr<BlockPool> pool_ =
      std::make_shared<BlockPool>(kMostFree);
  // Declared before its decoders.
  std::unique_ptr<NvJpeg> nvjpeg_;
  Slots slots_;
  std::vector<std::unique_ptr<ChunkMaker>> makers_;
  const FaultList no_faults_;
  // The epoch that was started last; it uses all of the above.
  std::unique_ptr<GpuEpoch> epoch_;
};

}  // namespace

absl::StatusOr<GpuLoaderOptions> UsableGpuOptions(
    int workers, const std::map<std::string, std::string>& settings) {
  ASSIGN_OR_RETURN(GpuLoaderOptions options,
                   GpuLoaderOptionsOf(workers, settings));
  if (options.nvjpeg_optional && !NvJpeg::Load().ok()) {
    options.hardware_threads = options.gpu_threads = 0;
  }
  return options;
}

absl::StatusOr<std::unique_ptr<DeviceLoader>> MakeDeviceLoader(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    GpuRecipe recipe, const GpuLoaderOptions& decoders) {
  auto made = std::make_unique<GpuLoader>(std::move(source), options,
                                          std::move(recipe));
  RETURN_IF_ERROR(made->Load(decoders));
  return made;
}

}  // namespace feedrate
