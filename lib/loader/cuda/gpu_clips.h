// Clips on the device: NVDEC decodes, and one kernel launch per clip does the
// rest. Samples of a ClipSet, for a loader whose batches are DeviceBlocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/made_source.h"
#include "lib/media/video/nvdec/nvdec_reader.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/params.h"

namespace feedrate {

// NvdecReader::Create, here or in a library.
using MakeClipReader =
    std::function<absl::StatusOr<std::unique_ptr<DeviceClipReader>>(
        CUstream_st* stream)>;

// Seconds per stage, as seen by the host.
struct GpuClipTimes {
  double decode_s = 0;
  double augment_s = 0;
  // The part of augment_s in which the thread waited for the device. Waits for
  // the engine are part of decode_s.
  double sync_s = 0;
};

// Decoder session, stream and memory of one thread, on the device that was the
// current one when it was made. Not thread-safe.
class GpuClipMaker {
 public:
  // Unavailable if there is no engine. `recipe` must outlive it.
  static absl::StatusOr<std::unique_ptr<GpuClipMaker>> Create(
      const GpuRecipe& recipe, const MakeClipReader& make_reader);

  // DeviceClipReader::Open.
  absl::StatusOr<VideoInfo> Open(const VideoPlace& video);
  absl::StatusOr<std::vector<double>> Times() { return reader_->Times(); }

  // Decodes these frames of the open video; crop, transform and normalization
  // of all of them are one launch with one draw. Waits until they are in
  // `batch`, in device memory, whose clips have as many frames each; this one's
  // place is `place`. After an error, no video is open.
  absl::Status Make(const std::vector<int64_t>& frames, Random random,
                    void* batch, int place);

  const GpuClipTimes& times() const { return times_; }
  int64_t cpu_frames() const { return reader_->cpu_frames(); }
  int64_t device_bytes() const { return frames_.bytes() + heads_.bytes(); }

 private:
  GpuClipMaker(const GpuRecipe& recipe, CudaStream stream)
      : recipe_(recipe), stream_(std::move(stream)) {}
  absl::Status Launch(int frames, Random random, void* batch, int place);

  const GpuRecipe& recipe_;
  const CudaStream stream_;
  std::unique_ptr<DeviceClipReader> reader_;
  VideoInfo info_;
  DeviceBlock frames_;
  // Images, recipes and places of the frames.
  PinnedBlock host_heads_;
  DeviceBlock heads_;
  GpuClipTimes times_;
};

// What ClipSetOptions::new_maker needs: makers of clips on the current device,
// with the draws that the CPU makes. An error says in one line what is missing.
absl::StatusOr<std::function<std::unique_ptr<ItemMaker>(const ClipSet& set)>>
ClipsOnGpu(GpuRecipe recipe, const MakeClipReader& make_reader);

}  // namespace feedrate
