#include "lib/loader/python/engine.h"

namespace feedrate {

MakeGpuEngineFn make_gpu_engine = nullptr;
MakeGpuClipsFn make_gpu_clips = nullptr;

absl::StatusOr<int> GpuOf(Settings* settings) {
  const int gpu = settings->Count("gpu");
  if (gpu < 0 || make_gpu_engine != nullptr) return gpu;
  return absl::FailedPreconditionError(
      "device=\"cuda\": this feedrate was built without CUDA; take a wheel "
      "with it, in a checkout run dev/bazel.sh build --config=cuda "
      "//lib/loader/python:feedrate_loader "
      "//lib/loader/mixture:feedrate_frames, or pass device=\"cpu\"");
}

}  // namespace feedrate
