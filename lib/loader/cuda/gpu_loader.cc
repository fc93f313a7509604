#include "lib/loader/cuda/gpu_loader.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/cuda/cuda_device.h"
#include "lib/adapters/cuda/kernels/batch.h"
#include "lib/adapters/worker/timing.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/chunk_maker.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/source/source.h"

namespace feedrate {
namespace {

// Batches that may exist besides the prefetched ones: one for the consumer, the
// others for threads that are ahead of the slowest.
constexpr int kMoreSlots = 5;

int64_t SampleValues(const LoaderSpec& spec) {
  return int64_t{3} * spec.crop * spec.crop;
}

class GpuEpoch : public BatchStream {
 public:
  // All must outlive it.
  GpuEpoch(const std::vector<std::unique_ptr<ChunkMaker>>& makers,
           const ChunkContext& context, const EpochCommand& command,
           const LoaderSpec& spec, const std::vector<DeviceBlock>& slots)
      : command_(command),
        recipe_(context.recipe),
        order_(command.first, command.count,
               static_cast<int64_t>(context.files.size()), spec.shuffle,
               command.seed, /*epoch=*/0),
        batch_size_(spec.batch_size),
        sample_values_(SampleValues(spec)),
        slots_(slots),
        queue_(command.count, static_cast<int>(spec.batch_size),
               static_cast<int>(slots.size()), context.recipe.mixes(),
               CostOf(makers, context)) {
    for (const std::unique_ptr<ChunkMaker>& maker : makers) {
      started_.push_back(maker->times());
      threads_.emplace_back([this, made = maker.get()] { Work(made); });
      makers_.push_back(maker.get());
    }
  }
  ~GpuEpoch() override { Join(); }

  absl::StatusOr<Batch> Next() override {
    ASSIGN_OR_RETURN(const DeviceBatch batch, NextOnDevice());
    return Batch{batch.count, batch.count * sample_values_ *
                                  static_cast<int64_t>(sizeof(float))};
  }

  absl::StatusOr<DeviceBatch> NextOnDevice() {
    ASSIGN_OR_RETURN(const std::optional<BatchQueue::Batch> made,
                     queue_.Next());
    DeviceBatch batch;
    if (!made.has_value()) return batch;
    batch.count = made->count;
    batch.data = reinterpret_cast<const float*>(slots_[made->slot].data());
    for (int i = 0; i < made->count; ++i) {
      batch.items.push_back(order_.Item(made->first + i));
    }
    return batch;
  }

  const FaultList& faults() const { return faults_; }

  absl::Status Finish(EpochReply* reply) override {
    Join();
    ChunkTimes sum;
    for (size_t i = 0; i < makers_.size(); ++i) {
      sum.read_s += makers_[i]->times().read_s - started_[i].read_s;
      sum.decode_s += makers_[i]->times().decode_s - started_[i].decode_s;
      sum.augment_s += makers_[i]->times().augment_s - started_[i].augment_s;
      sum.sync_s += makers_[i]->times().sync_s - started_[i].sync_s;
    }
    ReportStages({{"read", sum.read_s},
                  {"decode", sum.decode_s},
                  {"augment", sum.augment_s}},
                 reply);
    reply->set_sync_s(sum.sync_s);
    reply->set_sync_threads(static_cast<int64_t>(makers_.size()));
    int64_t bytes = 0;
    for (const DeviceBlock& slot : slots_) bytes += slot.bytes();
    for (const ChunkMaker* maker : makers_) bytes += maker->device_bytes();
    reply->set_gpu_allocated_bytes(bytes);
    reply->set_gpu_reserved_bytes(bytes);
    ReportFaults(faults_, reply);
    return absl::OkStatus();
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
      return cost.Of(order_.Item(position), command_.seed);
    };
  }

  void Work(ChunkMaker* maker) {
    while (const std::optional<BatchQueue::Piece> piece =
               queue_.Take(maker->chunk(), maker->end())) {
      const absl::Status made = maker->Make(ChunkOf(*piece), &faults_);
      if (!made.ok()) return queue_.Fail(made);
      queue_.Done(*piece);
    }
  }

  Chunk ChunkOf(const BatchQueue::Piece& piece) const {
    Chunk chunk;
    chunk.piece = piece;
    for (const int place : piece.places) {
      chunk.positions.push_back(piece.batch * batch_size_ + place);
      chunk.items.push_back(order_.Item(chunk.positions.back()));
    }
    chunk.seed = command_.seed;
    chunk.mix = recipe_.DrawPlan(command_.seed, piece.batch);
    chunk.batch = reinterpret_cast<float*>(slots_[piece.slot].data());
    return chunk;
  }

  void Join() {
    queue_.Fail(absl::OkStatus());
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  const EpochCommand command_;
  const GpuRecipe& recipe_;
  const ItemOrder order_;
  const int64_t batch_size_;
  const int64_t sample_values_;
  const std::vector<DeviceBlock>& slots_;
  BatchQueue queue_;
  FaultList faults_;
  std::vector<ChunkMaker*> makers_;
  std::vector<ChunkTimes> started_;
  std::vector<std::thread> threads_;
};

class GpuLoader : public PreparedLoader, public DeviceLoader {
 public:
  GpuLoader(const LoaderSpec& spec, GpuRecipe recipe,
            const std::vector<SourceFile>& files)
      : spec_(spec),
        recipe_(std::move(recipe)),
        cost_(files, recipe_),
        context_{files, recipe_, cost_, spec.on_error != "fail"},
        slots_(std::max(1, spec.prefetch) + kMoreSlots) {}

  absl::Status Load(const GpuLoaderOptions& options) {
    for (DeviceBlock& slot : slots_) {
      RETURN_IF_ERROR(
          slot.ReserveExactly(spec_.batch_size * SampleValues(spec_) *
                              static_cast<int64_t>(sizeof(float))));
    }
    RETURN_IF_ERROR(AddEngines(kNvjpegHardware, options.hardware_threads));
    RETURN_IF_ERROR(AddEngines(kNvjpegGpuHybrid, options.gpu_threads));
    for (int i = 0; i < options.workers; ++i) {
      RETURN_IF_ERROR(AddMaker(nullptr));
    }
    // Without an engine the CPU must decode.
    return makers_.empty() ? AddMaker(nullptr) : absl::OkStatus();
  }

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    return TimeEpoch(command,
                     [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
                       return Start(command);
                     });
  }

  absl::Status StartEpoch(const EpochCommand& command) override {
    epoch_ = nullptr;
    ASSIGN_OR_RETURN(epoch_, Start(command));
    return absl::OkStatus();
  }
  absl::StatusOr<DeviceBatch> Next() override { return epoch_->NextOnDevice(); }
  const FaultList& faults() const override { return epoch_->faults(); }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    if (item < 0 || item >= static_cast<int64_t>(context_.files.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no item ", item));
    }
    FaultList faults;
    Chunk chunk;
    chunk.piece.size = 1;
    chunk.piece.places = {0};
    chunk.positions = {0};
    chunk.items = {item};
    chunk.seed = seed;
    chunk.batch = reinterpret_cast<float*>(slots_[0].data());
    RETURN_IF_ERROR(makers_.back()->Make(chunk, &faults));
    sample_.resize(SampleValues(spec_));
    RETURN_IF_ERROR(CudaStatus(
        cudaMemcpy(sample_.data(), chunk.batch, sample_.size() * sizeof(float),
                   cudaMemcpyDeviceToHost),
        "cudaMemcpy"));
    Output output;
    output.data = sample_.data();
    output.bytes = static_cast<int64_t>(sample_.size() * sizeof(float));
    output.dtype = "float32";
    output.layout = "CHW";
    output.shape = {3, spec_.crop, spec_.crop};
    return output;
  }

 private:
  absl::StatusOr<std::unique_ptr<GpuEpoch>> Start(EpochCommand command) const {
    if (spec_.drop_last) command.count -= command.count % spec_.batch_size;
    if (command.count < 1) {
      return absl::InvalidArgumentError("no batch of that size is whole");
    }
    return std::make_unique<GpuEpoch>(makers_, context_, command, spec_,
                                      slots_);
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

  const LoaderSpec spec_;
  const GpuRecipe recipe_;
  DecodeCost cost_;
  const ChunkContext context_;
  // Declared before its decoders.
  std::unique_ptr<NvJpeg> nvjpeg_;
  std::vector<DeviceBlock> slots_;
  std::vector<std::unique_ptr<ChunkMaker>> makers_;
  std::vector<float> sample_;
  // The epoch that StartEpoch started; it uses all of the above.
  std::unique_ptr<GpuEpoch> epoch_;
};

absl::StatusOr<std::unique_ptr<GpuLoader>> Make(
    const TransformSpec& spec, const GpuLoaderOptions& options,
    const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(GpuRecipe recipe, GpuRecipe::Create(spec));
  auto made =
      std::make_unique<GpuLoader>(*spec.loader, std::move(recipe), files);
  RETURN_IF_ERROR(made->Load(options));
  return made;
}

absl::StatusOr<GpuLoaderOptions> UsableOptions(const LoaderSpec& loader) {
  ASSIGN_OR_RETURN(GpuLoaderOptions options, GpuLoaderOptionsOf(loader));
  if (options.nvjpeg_optional && !NvJpeg::Load().ok()) {
    options.hardware_threads = options.gpu_threads = 0;
  }
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceLoader>> MakeDeviceLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(const GpuLoaderOptions options, UsableOptions(*spec.loader));
  return Make(spec, options, files);
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeGpuLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files) {
  const LoaderSpec& loader = *spec.loader;
  const bool limits = loader.ablation == kDeviceLimits;
  if (spec.device != "cuda" || loader.source != "files" ||
      (!loader.ablation.empty() && !limits)) {
    return absl::InvalidArgumentError(
        "the loader of cuda reads files to device cuda, with nothing left out");
  }
  RETURN_IF_ERROR(GpuRecipe::Create(spec).status());
  ASSIGN_OR_RETURN(const GpuLoaderOptions options, UsableOptions(loader));
  // Threads that wait for the device leave the processor to those that decode.
  // An error means that the device is already in use, for example after another
  // job.
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  cudaGetLastError();
  if (limits) {
    return MakeLimitsLoader([options, &files](double seconds) {
      return MeasureGpuLimits(options, files, seconds);
    });
  }
  return Make(spec, options, files);
}

namespace {

constexpr int kRounds = 3;
constexpr size_t kMostFiles = 256;
// Files per engine call, as in the loader.
constexpr size_t kChunk = 64;
constexpr int64_t kAlign = 256;

struct Encoded {
  std::string bytes;
  JpegHead head;
};

std::vector<Encoded> LoadFiles(const std::vector<SourceFile>& files) {
  std::vector<Encoded> loaded;
  const size_t count = std::min(files.size(), kMostFiles);
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<std::string> bytes =
        ReadFile(files[i * files.size() / count].path);
    if (!bytes.ok()) continue;
    const std::optional<JpegHead> head = ReadJpegHead(*bytes);
    if (!head.has_value() || !EngineDecodes(*head)) continue;
    loaded.push_back({*std::move(bytes), *head});
  }
  return loaded;
}

// Decoder of one thread, which decodes the same files repeatedly to the same
// memory.
class Decoding {
 public:
  static absl::StatusOr<std::unique_ptr<Decoding>> Create(
      const NvJpeg& library, NvjpegBackend backend,
      const std::vector<Encoded>& files, size_t first) {
    std::unique_ptr<Decoding> made = absl::WrapUnique(new Decoding());
    ASSIGN_OR_RETURN(made->decoder_, NvJpegDecoder::Create(library, backend));
    RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    std::vector<int64_t> offsets;
    int64_t bytes = 0;
    const size_t count = std::min(files.size(), kChunk);
    for (size_t i = 0; i < count; ++i) {
      const Encoded& file = files[(first + i) % files.size()];
      made->files_.push_back(file.bytes);
      made->images_.push_back({nullptr, file.head.height, file.head.width,
                               int64_t{3} * file.head.width});
      offsets.push_back(bytes);
      bytes += (int64_t{3} * file.head.height * file.head.width + kAlign - 1) /
               kAlign * kAlign;
    }
    RETURN_IF_ERROR(made->pixels_.ReserveExactly(bytes + kAlign));
    for (size_t i = 0; i < count; ++i) {
      made->images_[i].data = made->pixels_.data() + offsets[i];
    }
    return made;
  }
  ~Decoding() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  // Decodes all files once and waits.
  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::vector<int> refused,
                     decoder_->Decode(files_, images_, stream_));
    if (!refused.empty()) {
      return absl::DataLossError("an engine does not decode all files");
    }
    return CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  int64_t count() const { return static_cast<int64_t>(files_.size()); }

 private:
  Decoding() = default;

  std::unique_ptr<NvJpegDecoder> decoder_;
  cudaStream_t stream_ = nullptr;
  DeviceBlock pixels_;
  std::vector<absl::string_view> files_;
  std::vector<fused::ByteImage> images_;
};

// Files per second of all threads together.
absl::StatusOr<double> Round(
    const std::vector<std::unique_ptr<Decoding>>& decodings, double seconds) {
  const int64_t begin = MonotonicNs();
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  std::atomic<int64_t> done{0};
  std::vector<absl::Status> statuses(decodings.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < decodings.size(); ++i) {
    threads.emplace_back([&, i] {
      do {
        statuses[i] = decodings[i]->Run();
        if (!statuses[i].ok()) return;
        done += decodings[i]->count();
      } while (MonotonicNs() < end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return static_cast<double>(done) /
         (static_cast<double>(MonotonicNs() - begin) * 1e-9);
}

absl::Status AddDecodings(const NvJpeg& library, NvjpegBackend backend,
                          int threads, const std::vector<Encoded>& files,
                          std::vector<std::unique_ptr<Decoding>>* to) {
  for (int i = 0; i < threads; ++i) {
    absl::StatusOr<std::unique_ptr<Decoding>> made =
        Decoding::Create(library, backend, files, to->size() * kChunk);
    // Engines that the device does not have decode nothing.
    if (absl::IsUnavailable(made.status())) return absl::OkStatus();
    RETURN_IF_ERROR(made.status());
    to->push_back(*std::move(made));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> EngineRate(const GpuLoaderOptions& options,
                                  const std::vector<SourceFile>& files,
                                  double seconds) {
  if (options.hardware_threads + options.gpu_threads == 0) return 0;
  const std::vector<Encoded> encoded = LoadFiles(files);
  if (encoded.empty()) return 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<NvJpeg> library, NvJpeg::Load());
  std::vector<std::unique_ptr<Decoding>> decodings;
  RETURN_IF_ERROR(AddDecodings(*library, kNvjpegHardware,
                               options.hardware_threads, encoded, &decodings));
  RETURN_IF_ERROR(AddDecodings(*library, kNvjpegGpuHybrid, options.gpu_threads,
                               encoded, &decodings));
  if (decodings.empty()) return 0;
  // The first run allocates their memory.
  for (const auto& decoding : decodings) RETURN_IF_ERROR(decoding->Run());
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    ASSIGN_OR_RETURN(const double rate, Round(decodings, seconds / kRounds));
    best = std::max(best, rate);
  }
  return best;
}

}  // namespace

absl::StatusOr<DeviceLimits> MeasureGpuLimits(
    const GpuLoaderOptions& options, const std::vector<SourceFile>& files,
    double seconds) {
  DeviceLimits limits;
  ASSIGN_OR_RETURN(const double copies, CopyBytesPerSecond());
  ASSIGN_OR_RETURN(const double engines, EngineRate(options, files, seconds));
  limits.set_copy_bytes_per_s(copies);
  limits.set_engine_items_per_s(engines);
  return limits;
}

}  // namespace feedrate
