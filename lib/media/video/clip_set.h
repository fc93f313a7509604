// A data set of clips, and who loads one. Without FFmpeg, so that a runner can
// speak of clips which its program loads.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_CLIP_SET_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_CLIP_SET_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/load_images.h"
#include "lib/media/video/clip_rule.h"

namespace feedrate {

struct ClipRequest {
  // As for images; the data set may be `synthetic:video,…`.
  LoadRequest files;
  int clip_length = 16;
  ClipRule rule = ClipRule::kUniform;
  // Draws the starts of consecutive clips.
  uint64_t seed = 0;
  // Clips to keep in memory, the first ones. Below 0: all. The others are
  // decoded too, once, so that what is broken is found before anything is
  // timed.
  int64_t kept = -1;
  // Where synthetic files are made, once.
  std::string cache_folder;
};

// One video of the set.
struct ClipFile {
  std::string path;  // Absolute.
  int64_t bytes = 0;
  // Numbers of the clip's frames, in display order from 0.
  std::vector<int64_t> frames;
  int height = 0;
  int width = 0;
};

struct LoadedClips {
  // The corpus has uint8 HWC frames: item i is the clip of file i. At least
  // one, whatever `kept` says.
  LoadedImages clips;
  std::vector<ClipFile> files;
};

using ClipLoader =
    std::function<absl::StatusOr<LoadedClips>(const ClipRequest&)>;
// Clips a second that FFmpeg itself reaches on so many threads.
using ClipLimit = std::function<absl::StatusOr<double>(
    const std::vector<ClipFile>&, int threads)>;

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_CLIP_SET_H_
