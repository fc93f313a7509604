// Synthetic videos: files made from a seed, with FFmpeg's encoders, for runs
// without a data set. Like those of UCF101: 320x240, 25 frames a second, about
// seven seconds; a scene that moves under sensor noise. Every frame carries its
// number (index_pattern.h). The same bytes wherever the same FFmpeg runs.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_SYNTHETIC_VIDEO_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_SYNTHETIC_VIDEO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct SyntheticVideoSpec {
  int64_t n = 0;  // Videos. 0: not said, as many as are asked for.
  uint64_t seed = 1;
  // `avi`: MPEG-4 without B-frames, a key frame in twelve. `mp4`: H.264 with
  // B-frames, a key frame every two seconds.
  std::string container = "avi";
};

// Reads `synthetic:video,n=N,seed=S,container=avi|mp4`, of which all but the
// kind may be left out.
absl::StatusOr<SyntheticVideoSpec> ParseSyntheticVideo(
    absl::string_view dataset);

// How a video is encoded. For tests of everything else that files can be.
struct EncodeOptions {
  // Ending of the container: `avi`, `mp4`, `mov`, `mkv`, `webm`.
  std::string container = "avi";
  // FFmpeg's name of the encoder.
  std::string codec = "mpeg4";
  std::string pixel_format = "yuv420p";
  int width = 320;
  int height = 240;
  int frames = 175;
  int key_interval = 12;
  int b_frames = 0;
  // Every other frame is shown twice as long.
  bool variable_rate = false;
  // Degrees that players are told to turn by; 0, 90, 180 or 270.
  int rotation = 0;
};

// The file of a scene that `seed` draws. InvalidArgument when this FFmpeg has
// no such encoder or container, or they do not go together.
absl::StatusOr<std::string> EncodeVideo(const EncodeOptions& options,
                                        uint64_t seed);

// Of video `index` of a set.
EncodeOptions SyntheticVideoOptions(const SyntheticVideoSpec& spec,
                                    int64_t index);
// Such as `synthetic_00000042.avi`: sorted by index.
std::string SyntheticVideoName(const SyntheticVideoSpec& spec, int64_t index);

// Makes the first `count` files of the set in `folder`, in parallel; those that
// are there are left alone.
absl::Status WriteSyntheticVideos(const SyntheticVideoSpec& spec, int64_t count,
                                  const std::string& folder);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_SYNTHETIC_VIDEO_H_
