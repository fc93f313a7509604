// A clip from its file to its place in a batch on the device.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_CLIP_MAKER_H_
#define FEEDRATE_LIB_LOADER_NVDEC_CLIP_MAKER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"
#include "lib/loader/cuda/device_block.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/nvdec/cuda_stream.h"
#include "lib/media/video/nvdec_reader.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Seconds by stage, as the host sees them.
struct ClipTimes {
  double decode_s = 0;
  double augment_s = 0;
};

// One thread's session, stream and memory. Not thread-safe.
class ClipMaker {
 public:
  // Unavailable where there is no engine. `recipe` outlives it.
  static absl::StatusOr<std::unique_ptr<ClipMaker>> Create(
      const GpuRecipe& recipe);

  // Decodes the clip of `file`, and crop, transform and normalisation of all
  // its frames are one launch with one draw. Waits until they are at `out`, in
  // device memory: float32 TCHW. InvalidArgument when the file cannot be used.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_CLIP_MAKER_H_
