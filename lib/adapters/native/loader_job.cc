#include "lib/adapters/native/loader_job.h"

#include <algorithm>
#include <utility>

#include "lib/base/status_macros.h"
#include "lib/loader/source/remote_source.h"
#include "lib/records/fields.h"

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
  return counts;
}

StorageCounts StorageSince(const StorageCounts& before, const Source& source) {
  StorageCounts now = *StorageOf(source);
  AddSameFields(before, &now, -1);
  now.set_busy_s(std::max(0.0, now.busy_s()));
  return now;
}

namespace {

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

std::unique_ptr<PreparedLoader> MakeLimitsLoader(MeasureLimits measure) {
  return std::make_unique<LimitsLoader>(std::move(measure));
}

}  // namespace feedrate
