#include "lib/adapters/native/loader_job.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/loader/source/remote_source.h"
#include "lib/media/item_ids.h"
#include "lib/records/fields.h"
#include "lib/worker/message.h"

namespace feedrate {
absl::StatusOr<Recipe> RecipeOf(const PrepareCommand& command) {
  const LoaderSpec& loader = command.loader();
  Recipe recipe;
  recipe.channels = loader.channels();
  recipe.crop = loader.crop();
  recipe.position = loader.crop_position() == "center" ? CropPosition::kCenter
                                                       : CropPosition::kRandom;
  recipe.first_step_crops = loader.is_crop();
  recipe.mean.assign(loader.mean().begin(), loader.mean().end());
  recipe.std.assign(loader.std().begin(), loader.std().end());
  recipe.input_scale = loader.input_scale();
  if (IsMixOp(command.native_op())) return recipe;
  ASSIGN_OR_RETURN(recipe.steps, StepsOf(TransformOf(command)));
  return recipe;
}

absl::StatusOr<LoaderOptions> LoaderOptionsOf(const PrepareCommand& command) {
  const LoaderSpec& loader = command.loader();
  LoaderOptions options;
  ASSIGN_OR_RETURN(options.recipe, RecipeOf(command));
  ASSIGN_OR_RETURN(options.mix, MixOptionsOf(TransformOf(command)));
  options.batch_size = static_cast<int>(loader.batch_size());
  options.workers = loader.workers();
  // All workers fill the same batch, so each prefetched batch is one for all of
  // them.
  options.buffers = std::max(1, loader.prefetch());
  options.persistent = loader.persistent();
  options.drop_last = loader.drop_last();
  options.shuffle = loader.shuffle();
  options.seed = static_cast<uint64_t>(command.seed());
  options.on_error =
      loader.on_error() == "fail" ? OnError::kFail : OnError::kSkip;
  return options;
}

absl::StatusOr<GpuRecipe> GpuRecipeOf(const PrepareCommand& command) {
  ASSIGN_OR_RETURN(const MixOptions mix, MixOptionsOf(TransformOf(command)));
  ASSIGN_OR_RETURN(const Recipe recipe, RecipeOf(command));
  return GpuRecipe::Create(recipe, mix);
}

void ReportFaults(const FaultList& faults, EpochReply* reply) {
  reply->set_errors_total(faults.total());
  for (ItemFault& fault : faults.all()) {
    if (reply->errors_size() == kMaxNamedErrors) return;
    LoaderError* const error = reply->add_errors();
    error->set_item(fault.item);
    error->set_path(std::move(fault.name));
    error->set_reason(std::move(fault.reason));
  }
}

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply) {
  for (const StageReport& stage : stages) {
    StageTimes* const times = reply->add_stages();
    times->set_name(stage.name);
    times->set_busy_s(stage.busy_s);
    times->set_wait_in_s(stage.wait_in_s);
    times->set_wait_out_s(stage.wait_out_s);
    times->set_queue_fill(stage.queue_fill);
  }
}

std::optional<StorageCounts> StorageOf(const Source& source) {
  if (source.remote() == nullptr) return std::nullopt;
  const TransferCounts transfers = source.remote()->counts();
  const CacheCounts cache = source.remote()->cache_counts();
  StorageCounts counts;
  counts.set_requests(transfers.requests);
  counts.set_bytes(transfers.bytes);
  counts.set_retries(transfers.retries);
  counts.set_checksum_faults(transfers.checksum_faults);
  counts.set_busy_s(transfers.busy_s);
  counts.set_cache_hits(cache.hits);
  counts.set_cache_misses(cache.misses);
  counts.set_cache_bad_entries(cache.bad_entries);
  counts.set_cache_write_failures(cache.write_failures);
  const PartCounts parts = source.remote()->part_counts();
  if (parts.items > 0) {
    counts.set_part_items(parts.items);
    counts.set_part_bytes(parts.bytes);
    counts.set_part_of_bytes(parts.of_bytes);
  }
  return counts;
}

StorageCounts StorageSince(const StorageCounts& before, const Source& source) {
  StorageCounts now = *StorageOf(source);
  AddSameFields(before, &now, -1);
  now.set_busy_s(std::max(0.0, now.busy_s()));
  return now;
}

namespace {

// The shape of samples: that of an image, or of the frames of a clip, which the
// loader knows by their bytes alone.
SampleShape FrameShapeOf(const Loader& loader) {
  const SampleShape& shape = loader.shape();
  if (shape.is_float()) return shape;
  const Recipe& recipe = loader.options().recipe;
  return {recipe.channels, recipe.crop, recipe.width(),
          SampleFormat::kFloatPlanes};
}

// The id that each sample shows, all frames of it.
std::vector<std::optional<int64_t>> IdsOf(const LoaderBatch& batch,
                                          const SampleShape& frame,
                                          const Recipe& recipe) {
  const auto frames = static_cast<int64_t>(batch.shape.bytes() / frame.bytes());
  std::vector<std::optional<int64_t>> ids;
  for (int64_t i = 0; i < batch.size * frames; ++i) {
    const std::optional<int64_t> id =
        IdOfPlanes(batch.data + i * frame.values(), frame.height, frame.width,
                   recipe.mean, recipe.std, recipe.input_scale);
    if (i % frames == 0) {
      ids.push_back(id);
    } else if (ids.back() != id) {
      ids.back() = std::nullopt;
    }
  }
  return ids;
}

class NativeStream : public BatchStream {
 public:
  // `loader` is the epoch's; `before` are the store's counts before it.
  // `position` is where the epoch begins, if ids are to be read.
  NativeStream(std::unique_ptr<Epoch> epoch, const Loader& loader,
               const EpochShare& share, std::optional<StorageCounts> before,
               std::optional<EpochPosition> position)
      : epoch_(std::move(epoch)),
        loader_(loader),
        share_(share),
        before_(before),
        position_(position) {}

  absl::StatusOr<BatchStream::Batch> Next() override {
    ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch_->Next());
    if (batch == nullptr) return BatchStream::Batch();
    BatchStream::Batch taken{batch->size, batch->bytes(), {}};
    if (position_.has_value()) {
      taken.ids =
          IdsOf(*batch, FrameShapeOf(loader_), loader_.options().recipe);
      position_->done = share_.StartAfter(++batches_, loader_.source().size(),
                                          loader_.options().batch_size);
    }
    return taken;
  }

  absl::Status Finish(EpochReply* reply) override {
    epoch_->Stop();
    ReportStages(epoch_->stages(), reply);
    ReportFaults(epoch_->faults(), reply);
    if (position_.has_value()) reply->set_state(position_->ToText());
    if (before_.has_value()) {
      *reply->mutable_storage() = StorageSince(*before_, loader_.source());
    }
    if (loader_.device_bytes() > 0) {
      reply->set_gpu_allocated_bytes(loader_.device_bytes());
      reply->set_gpu_reserved_bytes(loader_.device_bytes());
      reply->set_sync_s(epoch_->sync_s());
      reply->set_sync_threads(epoch_->threads());
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Epoch> epoch_;
  const Loader& loader_;
  const EpochShare share_;
  int64_t batches_ = 0;
  const std::optional<StorageCounts> before_;
  std::optional<EpochPosition> position_;
};

class NativeLoader : public PreparedLoader {
 public:
  // `share` is the rank.
  NativeLoader(std::unique_ptr<Loader> loader, EpochShare share)
      : loader_(std::move(loader)), share_(share) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    // The loader owns the memory for batches, not the epoch: allocated before.
    EpochRange range;
    range.first = command.first();
    range.count = command.count();
    ASSIGN_OR_RETURN(const EpochPosition begin, BeginOf(command));
    EpochShare share = share_;
    share.start = begin.done;
    RETURN_IF_ERROR(loader_->ReserveFor(range));
    return TimeEpoch(
        command, [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
          const std::optional<StorageCounts> before =
              StorageOf(loader_->source());
          ASSIGN_OR_RETURN(
              std::unique_ptr<Epoch> epoch,
              share.world > 1 || share.start > 0
                  ? loader_->StartShare(begin.seed, begin.epoch, share)
                  : loader_->StartEpoch(begin.seed, begin.epoch, range));
          return std::make_unique<NativeStream>(
              std::move(epoch), *loader_, share, before,
              command.ids() ? std::make_optional(begin) : std::nullopt);
        });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    const SampleShape shape = FrameShapeOf(*loader_);
    sample_.resize(loader_->shape().bytes() / sizeof(float));
    RETURN_IF_ERROR(loader_->MakeSample(seed, 0, item, sample_.data()));
    Output output;
    output.data = sample_.data();
    output.bytes = static_cast<int64_t>(sample_.size() * sizeof(float));
    output.dtype = "float32";
    output.layout = "CHW";
    output.shape = {shape.channels, shape.height, shape.width};
    if (!loader_->shape().is_float()) {
      output.layout = "TCHW";
      output.shape.insert(output.shape.begin(),
                          output.bytes / static_cast<int64_t>(shape.bytes()));
    }
    return output;
  }

 private:
  std::unique_ptr<Loader> loader_;
  const EpochShare share_;
  std::vector<float> sample_;
};

class LimitsLoader : public PreparedLoader {
 public:
  explicit LimitsLoader(MeasureLimits measure) : measure_(std::move(measure)) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    EpochReply reply;
    ASSIGN_OR_RETURN(
        *reply.mutable_device_limits(),
        measure_(command.limit_s() > 0 ? command.limit_s() : kUsualS));
    return reply;
  }
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    return absl::UnimplementedError("limits have no outputs");
  }

 private:
  static constexpr double kUsualS = 0.6;
  const MeasureLimits measure_;
};

}  // namespace

std::unique_ptr<PreparedLoader> PrepareLoaderOf(std::unique_ptr<Loader> loader,
                                                const LoaderSpec& spec) {
  EpochShare share;
  share.rank = spec.rank();
  share.world = RanksOf(spec);
  if (spec.drop_last()) share.tail = EpochShare::Tail::kDrop;
  return std::make_unique<NativeLoader>(std::move(loader), share);
}

std::unique_ptr<PreparedLoader> MakeLimitsLoader(MeasureLimits measure) {
  return std::make_unique<LimitsLoader>(std::move(measure));
}

}  // namespace feedrate
