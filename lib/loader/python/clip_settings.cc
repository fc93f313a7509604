#include "lib/loader/python/clip_settings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/json/json.h"
#include "lib/loader/mixture/video_library.h"
#include "lib/loader/python/engine.h"
#include "lib/media/video/clips.h"

namespace feedrate {

absl::StatusOr<std::unique_ptr<ClipSet>> OpenClips(
    Settings* settings, const std::vector<std::string>& files, int gpu,
    LoaderOptions* options, LabeledSource* labeled,
    std::unique_ptr<BatchMemory>* memory) {
  ClipSetOptions set;
  set.timing.sampling = settings->Word<ClipSampling>(
      "sampling", {"random", "uniform", "consecutive", "dense"});
  set.timing.frames = settings->Count("frames");
  set.timing.in_seconds =
      settings->Word<int>("unit", {"frames", "seconds"}) != 0;
  set.timing.stride = settings->Numbers("stride")[0];
  set.timing.clips = settings->Count("clips");
  set.timing.step = settings->Numbers("clip_step")[0];
  options->recipe.resize = settings->Count("resize");
  if (options->mix.kind != MixKind::kNone) {
    return absl::InvalidArgumentError(
        "transforms: clips are not mixed; mix the batch in your training");
  }
  set.fail = options->on_error == OnError::kFail;
  set.threads = std::max(1, options->workers);
  RETURN_IF_ERROR(settings->status());
  set.recipe = options->recipe;
  if (gpu >= 0) {
    ASSIGN_OR_RETURN(GpuClips clips, make_gpu_clips(*options, gpu));
    set.new_maker = std::move(clips.new_maker);
    *memory = std::move(clips.memory);
    // Steps are the GPU's; without them the recipe tells the shape, and whether
    // the crop is possible.
    set.recipe.steps.clear();
    set.recipe.first_step_crops &= set.recipe.resize > 0;
  }
  ASSIGN_OR_RETURN(*labeled,
                   OpenSource(settings, files, nullptr, VideoEndings()));
  const auto open = [](int64_t, const char* path, absl::string_view bytes) {
    return OpenClip(path, bytes);
  };
  return ClipSet::Open(std::move(labeled->source), open, set);
}

absl::StatusOr<std::string> DescribeClips(const ClipSet& set,
                                          const LoaderOptions& options) {
  ASSIGN_OR_RETURN(const ClipSet::Memory memory, set.FindMemory());
  const int64_t threads = std::max(1, options.workers);
  const Json about = {
      {"memory",
       {{"index", memory.index},
        {"batches", BytesOfBatches(set.sample_bytes(), options)},
        {"decoders", threads * memory.decoder}}}};
  return about.dump();
}

}  // namespace feedrate
