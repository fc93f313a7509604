#include "lib/loader/python/engine.h"

#include "absl/strings/str_cat.h"
#include "lib/loader/source/remote_source.h"

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

std::string DescribeTransfers(const RemoteSource& store) {
  const TransferCounts counts = store.counts();
  const PartCounts parts = store.part_counts();
  return absl::StrCat(
      "{\"requests\":", counts.requests, ",\"bytes\":", counts.bytes,
      ",\"retries\":", counts.retries, ",\"part_items\":", parts.items,
      ",\"part_bytes\":", parts.bytes, ",\"part_of_bytes\":", parts.of_bytes,
      "}");
}

}  // namespace feedrate
