#include "lib/loader/worker/native_adapter.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/cuda/limits_loader.h"
#include "lib/loader/epoch.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/loader.h"
#include "lib/loader/remote_source.h"
#include "lib/loader/worker/native_mixture.h"
#include "lib/loader/worker/native_options.h"
#include "lib/media/parallel.h"
#include "lib/worker/loader_message.h"
#include "opencv2/core/ocl.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

// What a store has done so far. Nothing without one.
std::optional<StorageCounts> StorageOf(const Source& source) {
  if (source.remote() == nullptr) return std::nullopt;
  const TransferCounts transfers = source.remote()->counts();
  const CacheCounts cache = source.remote()->cache_counts();
  StorageCounts counts;
  counts.requests = transfers.requests;
  counts.bytes = transfers.bytes;
  counts.retries = transfers.retries;
  counts.checksum_faults = transfers.checksum_faults;
  counts.busy_s = transfers.busy_s;
  counts.cache_hits = cache.hits;
  counts.cache_misses = cache.misses;
  counts.cache_bad_entries = cache.bad_entries;
  counts.cache_write_failures = cache.write_failures;
  return counts;
}

StorageCounts Since(const StorageCounts& before, StorageCounts now) {
  now.requests -= before.requests;
  now.bytes -= before.bytes;
  now.retries -= before.retries;
  now.checksum_faults -= before.checksum_faults;
  now.busy_s = std::max(0.0, now.busy_s - before.busy_s);
  now.cache_hits -= before.cache_hits;
  now.cache_misses -= before.cache_misses;
  now.cache_bad_entries -= before.cache_bad_entries;
  now.cache_write_failures -= before.cache_write_failures;
  return now;
}

class NativeStream : public BatchStream {
 public:
  // `loader` is the epoch's, `before` what its store had done before it.
  NativeStream(std::unique_ptr<Epoch> epoch, const Loader& loader,
               std::optional<StorageCounts> before)
      : epoch_(std::move(epoch)), loader_(loader), before_(before) {}

  absl::StatusOr<BatchStream::Batch> Next() override {
    ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch_->Next());
    if (batch == nullptr) return BatchStream::Batch();
    return BatchStream::Batch{batch->size, batch->bytes()};
  }

  absl::Status Finish(EpochReply* reply) override {
    epoch_->Stop();
    ReportStages(epoch_->stages(), reply);
    ReportFaults(epoch_->faults(), reply);
    if (before_.has_value()) {
      reply->storage = Since(*before_, *StorageOf(loader_.source()));
    }
    reply->gpu_allocated_bytes = loader_.device_bytes();
    reply->gpu_reserved_bytes = loader_.device_bytes();
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Epoch> epoch_;
  const Loader& loader_;
  const std::optional<StorageCounts> before_;
};

class NativeLoader : public PreparedLoader {
 public:
  explicit NativeLoader(std::unique_ptr<Loader> loader)
      : loader_(std::move(loader)) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    // Memory for batches is the loader's, not the epoch's: made before.
    EpochRange range;
    range.first = command.first;
    range.count = command.count;
    RETURN_IF_ERROR(loader_->ReserveFor(range));
    return TimeEpoch(
        command, [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
          const std::optional<StorageCounts> before =
              StorageOf(loader_->source());
          ASSIGN_OR_RETURN(std::unique_ptr<Epoch> epoch,
                           loader_->StartEpoch(command.seed, 0, range));
          return std::make_unique<NativeStream>(std::move(epoch), *loader_,
                                                before);
        });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    const SampleShape& shape = loader_->shape();
    sample_.resize(shape.values());
    RETURN_IF_ERROR(loader_->MakeSample(seed, 0, item, sample_.data()));
    Output output;
    output.data = sample_.data();
    output.bytes = static_cast<int64_t>(sample_.size() * sizeof(float));
    output.dtype = "float32";
    output.layout = "CHW";
    output.shape = {shape.channels, shape.height, shape.width};
    return output;
  }

 private:
  std::unique_ptr<Loader> loader_;
  std::vector<float> sample_;
};

// Copies alone: the CPU decodes.
absl::StatusOr<std::unique_ptr<PreparedLoader>> DeviceLimitsOf(
    const TransformSpec& spec) {
  if (spec.device != "cuda" || spec.loader->scope != kCopyScope) {
    return absl::InvalidArgumentError(
        absl::StrCat("native uses no device but in the scope ", kCopyScope));
  }
  return MakeLimitsLoader([](double) -> absl::StatusOr<DeviceLimits> {
    DeviceLimits limits;
    ASSIGN_OR_RETURN(limits.copy_bytes_per_s, CopyBytesPerSecond());
    return limits;
  });
}

}  // namespace

std::string NativeAdapter::version() const {
  return absl::StrCat("1+opencv", cv::getVersionString());
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NativeAdapter::PrepareLoader(
    const TransformSpec& spec, const LoaderInput& input) {
  cv::ocl::setUseOpenCL(false);
  if (spec.loader->ablation == kDeviceLimits) return DeviceLimitsOf(spec);
  ASSIGN_OR_RETURN(const LoaderOptions options, NativeOptions(spec));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   NativeSource(*spec.loader, input));
  std::unique_ptr<BatchMemory> memory;
  std::unique_ptr<DeviceCopy> copy;
  if (spec.loader->scope == kCopyScope && spec.device == "cuda") {
    ASSIGN_OR_RETURN(memory, PinnedMemory());
    ASSIGN_OR_RETURN(copy, CudaCopy());
  } else if (spec.loader->scope == kCopyScope) {
    copy = std::make_unique<HostCopy>();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader,
                   Loader::Create(std::move(source), options, std::move(memory),
                                  std::move(copy)));
  threads_ = std::max(1, options.workers);
  return std::make_unique<NativeLoader>(std::move(loader));
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> NativeAdapter::PrepareMixture(
    const TransformSpec& spec, const std::vector<MixtureSource>& sources) {
  threads_ = spec.mixture->decode_parallelism > 0
                 ? spec.mixture->decode_parallelism
                 : UsableProcessors();
  return PrepareNativeMixture(spec, sources);
}

}  // namespace feedrate
