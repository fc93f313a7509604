#include "lib/adapters/cuda/cuda_loader.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lib/adapters/cuda/gpu_limits.h"
#include "lib/adapters/native/loader_job.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/gpu_loader.h"
#include "lib/loader/source/data_folder.h"

namespace feedrate {
namespace {

// The epoch that the loader started last.
class DeviceStream : public BatchStream {
 public:
  explicit DeviceStream(DeviceLoader* loader) : loader_(*loader) {}
  ~DeviceStream() override { loader_.EndEpoch(); }

  absl::StatusOr<Batch> Next() override {
    ASSIGN_OR_RETURN(const DeviceBatch batch, loader_.Next());
    return Batch{batch.count, batch.count * loader_.shape().bytes()};
  }

  absl::Status Finish(EpochReply* reply) override {
    loader_.EndEpoch();
    const DeviceEpochReport report = loader_.report();
    ReportStages(report.stages, reply);
    reply->set_sync_s(report.sync_s);
    reply->set_sync_threads(report.threads);
    reply->set_gpu_allocated_bytes(report.device_bytes);
    reply->set_gpu_reserved_bytes(report.device_bytes);
    ReportFaults(loader_.faults(), reply);
    return absl::OkStatus();
  }

 private:
  DeviceLoader& loader_;
};

class CudaLoader : public PreparedLoader {
 public:
  explicit CudaLoader(std::unique_ptr<DeviceLoader> loader)
      : loader_(std::move(loader)) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    return TimeEpoch(command,
                     [&]() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
                       RETURN_IF_ERROR(loader_->StartEpoch(
                           command.seed(), {command.first(), command.count()}));
                       return std::make_unique<DeviceStream>(loader_.get());
                     });
  }

  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    const SampleShape shape = loader_->shape();
    sample_.resize(shape.values());
    RETURN_IF_ERROR(loader_->MakeSample(item, seed, sample_.data()));
    Output output;
    output.data = sample_.data();
    output.bytes = static_cast<int64_t>(sample_.size() * sizeof(float));
    output.dtype = "float32";
    output.layout = "CHW";
    output.shape = {shape.channels, shape.height, shape.width};
    return output;
  }

 private:
  const std::unique_ptr<DeviceLoader> loader_;
  std::vector<float> sample_;
};

LoaderOptions OptionsOf(const LoaderSpec& loader) {
  LoaderOptions options;
  options.batch_size = static_cast<int>(loader.batch_size());
  options.buffers = std::max(1, loader.prefetch());
  options.drop_last = loader.drop_last();
  options.shuffle = loader.shuffle();
  options.on_error =
      loader.on_error() == "fail" ? OnError::kFail : OnError::kSkip;
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeCudaLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files) {
  const LoaderSpec& loader = spec.loader();
  const bool limits = loader.ablation() == kDeviceLimits;
  if (spec.device() != "cuda" || loader.source() != "files" ||
      (!loader.ablation().empty() && !limits)) {
    return absl::InvalidArgumentError(
        "the loader of cuda reads files to device cuda, with nothing left out");
  }
  ASSIGN_OR_RETURN(GpuRecipe recipe, GpuRecipeOf(spec));
  ASSIGN_OR_RETURN(
      const GpuLoaderOptions decoders,
      UsableGpuOptions(loader.workers(),
                       {loader.settings().begin(), loader.settings().end()}));
  LoaderOptions options = OptionsOf(loader);
  if (decoders.jpeg_index) {
    // Not a path of the job's, which may come from a file of somebody else.
    ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
    options.jpeg_index = JoinPath(folder, kJpegIndexName);
  }
  // Threads that wait for the device leave the processor to those that decode.
  // An error means that the device is already in use, for example after another
  // job.
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  cudaGetLastError();
  if (limits) {
    return MakeLimitsLoader([decoders, &files](double seconds) {
      return MeasureGpuLimits(decoders, files, seconds);
    });
  }
  std::vector<ListedFile> listed;
  for (const SourceFile& file : files) {
    listed.push_back({file.path, file.bytes});
  }
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceLoader> made,
                   MakeDeviceLoader(ListSource(std::move(listed)), options,
                                    std::move(recipe), decoders));
  return std::make_unique<CudaLoader>(std::move(made));
}

}  // namespace feedrate
