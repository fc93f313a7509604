// Videos to batches of clips on the device: NVDEC decodes, and one kernel
// launch per clip does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/media/video/nvdec/nvdec_reader.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/params.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Uses `workers` threads, at least one, each with its own decoder session.
// Batches are N, T, C, crop, crop of float32, in order. `files` must outlive
// the result. InvalidArgument names what it does not support; Unavailable if
// there is no engine.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeNvdecLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files);

// Seconds per stage, as seen by the host.
struct ClipTimes {
  double decode_s = 0;
  double augment_s = 0;
  // The part of augment_s in which the thread waited for the device. Waits for
  // the engine are part of decode_s.
  double sync_s = 0;
};

// Makes clips: decoder session, stream and memory of one thread. Not
// thread-safe.
class ClipMaker {
 public:
  // Unavailable if there is no engine. `recipe` must outlive it.
  static absl::StatusOr<std::unique_ptr<ClipMaker>> Create(
      const GpuRecipe& recipe);

  // Decodes the clip of `file`; crop, transform and normalization of all its
  // frames are one launch with one draw. Waits until they are at `out` in
  // device memory: float32 TCHW. InvalidArgument if the file cannot be used.
  absl::Status Make(const SourceFile& file, Random random, float* out);

  const ClipTimes& times() const { return times_; }
  int64_t cpu_frames() const { return reader_->cpu_frames(); }
  int64_t device_bytes() const { return frames_.bytes() + heads_.bytes(); }

 private:
  ClipMaker(const GpuRecipe& recipe, CudaStream stream)
      : recipe_(recipe), stream_(std::move(stream)) {}
  absl::Status Decode(const SourceFile& file);
  absl::Status Launch(int frames, Random random, float* out);

  const GpuRecipe& recipe_;
  const CudaStream stream_;
  std::unique_ptr<NvdecReader> reader_;
  VideoInfo info_;
  DeviceBlock frames_;
  // Images and recipes of the frames.
  PinnedBlock host_heads_;
  DeviceBlock heads_;
  ClipTimes times_;
};

// Maximum rate of the device's engines: clips per second of all threads
// together, each with its own session. Frames are decoded and dropped, and
// opening files does not count. Uses the first few files; the best of two
// passes.
absl::StatusOr<double> EngineRate(const std::vector<SourceFile>& files,
                                  int threads);

}  // namespace feedrate
