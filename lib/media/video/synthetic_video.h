// Synthetic videos: files made from a seed, with FFmpeg's encoders, for runs
// without a data set. Like those of UCF101: 320x240, 25 frames per second,
// about seven seconds; a moving scene with sensor noise. Every frame carries
// its number (clips.h). The same bytes wherever the same FFmpeg runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct SyntheticVideoSpec {
  int64_t n = 0;  // Videos. 0 means as many as are requested.
  uint64_t seed = 1;
  // `avi`: MPEG-4 without B-frames, a key frame every twelve frames. `mp4`:
  // H.264 with B-frames, a key frame every two seconds.
  std::string container = "avi";
  // Kind `ids`: videos of one color each, which shows their number
  // (lib/media/item_ids.h), not scenes.
  bool ids = false;
};

// Parses `synthetic:video,n=N,seed=S,container=avi|mp4`, or `synthetic:ids`
// without a seed; everything but the kind is optional.
absl::StatusOr<SyntheticVideoSpec> ParseSyntheticVideo(
    absl::string_view dataset);

// How a video is encoded. Tests use it for other kinds of files.
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
  // Shows every other frame twice as long.
  bool variable_rate = false;
  // Rotation metadata for players, in degrees: 0, 90, 180 or 270.
  int rotation = 0;
  // MPEG-4 as DivX 5 wrote it to AVI: a B-frame is packed together with the
  // frame that it needs, and a packet without a frame follows. One such packet
  // is at the end.
  bool packed = false;
  // The first frames that an edit list leaves out, in `mp4` and `mov`.
  int hidden_frames = 0;
  // Further options of FFmpeg's encoder and of its container, such as
  // `x264-params=open-gop=1` and `movflags=faststart`; several with commas.
  std::string codec_options;
  std::string container_options;
  // Red, green and blue of all pixels, exact to 3, instead of a scene.
  std::optional<std::array<uint8_t, 3>> color;
};

// Encodes a scene drawn by `seed` and returns the file. InvalidArgument when
// this FFmpeg has no such encoder or container, or they do not fit together.
absl::StatusOr<std::string> EncodeVideo(const EncodeOptions& options,
                                        uint64_t seed);

// One file with the video streams of all, the last of which players should
// prefer, without the first `skipped` packets of each. REQUIRES: files of
// EncodeVideo; without B-frames if `skipped` is 0.
absl::StatusOr<std::string> JoinVideos(const std::vector<std::string>& files,
                                       const std::string& container,
                                       int64_t skipped = 0);

// Options of video `index` of a set.
EncodeOptions SyntheticVideoOptions(const SyntheticVideoSpec& spec,
                                    int64_t index);
// Such as `synthetic_00000042.avi`: sorted by index.
std::string SyntheticVideoName(const SyntheticVideoSpec& spec, int64_t index);

// Writes the first `count` files of the set to `folder`, in parallel. Existing
// files are kept.
absl::Status WriteSyntheticVideos(const SyntheticVideoSpec& spec, int64_t count,
                                  const std::string& folder);

}  // namespace feedrate
