// The engine that makes batches on a GPU: part of a library that was built with
// --config=cuda.
#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/cuda/device_blocks.h"
#include "lib/loader/cuda/gpu_clips.h"
#include "lib/loader/cuda/gpu_loader.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/made_source.h"
#include "lib/loader/mixture/video_library.h"
#include "lib/loader/python/engine.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

class GpuEngine : public Engine {
 public:
  GpuEngine(const LoaderOptions& options, int device, const Source& source,
            std::unique_ptr<DeviceLoader> loader)
      : options_(options),
        device_(device),
        source_(source),
        loader_(std::move(loader)) {}
  ~GpuEngine() override {
    const OnDevice on(device_);
    loader_ = nullptr;
  }

  const Source& source() const override { return source_; }
  SampleShape shape() const override {
    return {options_.recipe.channels, options_.recipe.crop,
            options_.recipe.crop, options_.recipe.format};
  }

  absl::Status Start(int64_t epoch, const EpochShare& share) override {
    runs_ = true;
    return loader_->StartShare(options_.seed, epoch, share);
  }
  bool WaitFor(double seconds) override { return loader_->WaitFor(seconds); }
  absl::StatusOr<std::unique_ptr<KeptBatch>> Next() override {
    return loader_->NextKept();
  }
  std::vector<ItemFault> End() override {
    if (!std::exchange(runs_, false)) return {};
    loader_->EndEpoch();
    return loader_->faults().all();
  }
  const FaultList* faults() const override {
    return runs_ ? &loader_->faults() : nullptr;
  }
  std::string index_problem() const override {
    return loader_->index_problem();
  }

 private:
  const LoaderOptions options_;
  const int device_;
  const Source& source_;  // The loader's.
  std::unique_ptr<DeviceLoader> loader_;
  bool runs_ = false;
};

absl::Status CheckDevice(int device, bool needs_clusters) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    cudaGetLastError();
    return absl::FailedPreconditionError(absl::StrCat(
        "device=\"cuda\": there is no GPU here (", cudaGetErrorString(error),
        "); install NVIDIA's driver, or pass device=\"cpu\""));
  }
  if (device >= devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("device=\"cuda:", device, "\": there are ", devices,
                     " GPUs; the last is \"cuda:", devices - 1, "\""));
  }
  int major = 0;
  RETURN_IF_ERROR(CudaStatus(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
      "cudaDeviceGetAttribute"));
  if (needs_clusters && major < 9) {
    return absl::InvalidArgumentError(absl::StrCat(
        "transforms: other than Mixup and CutMix need a GPU of compute "
        "capability 9.0, and this one has ",
        major, "; pass device=\"cpu\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<GpuRecipe> RecipeOf(const LoaderOptions& options, int device) {
  absl::StatusOr<GpuRecipe> recipe =
      GpuRecipe::Create(options.recipe, options.mix);
  if (!recipe.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("transforms: ", recipe.status().message(),
                     "; leave it out, or pass device=\"cpu\""));
  }
  RETURN_IF_ERROR(CheckDevice(device, recipe->needs_clusters()));
  return recipe;
}

absl::StatusOr<std::unique_ptr<Engine>> MakeGpuEngine(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    const LoaderGpuSettings& gpu) {
  RETURN_IF_ERROR(CheckMix(options.mix, options.recipe.format));
  ASSIGN_OR_RETURN(GpuRecipe recipe, RecipeOf(options, gpu.device));
  std::map<std::string, std::string> settings;
  if (gpu.nvjpeg != "auto") settings["nvjpeg"] = gpu.nvjpeg;
  const OnDevice on(gpu.device);
  const Source& items = *source;
  ASSIGN_OR_RETURN(const GpuLoaderOptions decoders,
                   UsableGpuOptions(options.workers, settings));
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceLoader> loader,
                   MakeDeviceLoader(std::move(source), options,
                                    std::move(recipe), decoders));
  return std::make_unique<GpuEngine>(options, gpu.device, items,
                                     std::move(loader));
}

absl::StatusOr<GpuClips> MakeGpuClips(const LoaderOptions& options,
                                      int device) {
  ASSIGN_OR_RETURN(GpuRecipe recipe, RecipeOf(options, device));
  const OnDevice on(device);
  GpuClips clips;
  auto maker = ClipsOnGpu(std::move(recipe), [device](CUstream_st* stream) {
    return NewNvdecReader(device, stream);
  });
  if (!maker.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("device=\"cuda\": ", maker.status().message(),
                     "; or pass device=\"cpu\""));
  }
  clips.new_maker = *std::move(maker);
  clips.memory = std::make_unique<DeviceBlocks>();
  return clips;
}

const bool registered = [] {
  make_gpu_engine = MakeGpuEngine;
  make_gpu_clips = MakeGpuClips;
  return true;
}();

}  // namespace
}  // namespace feedrate
