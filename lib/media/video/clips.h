// Data sets of clips: which frames make a clip, requests and results of
// loading, and the frame numbers in synthetic videos. Independent of FFmpeg, so
// that a runner can handle clips which its program loads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/load_images.h"

namespace feedrate {

// Endings of names of videos, in lower case, with the dot.
const std::vector<std::string>& VideoEndings();

// Which frames of a video make its clip. Every decoder gets the same request,
// so that all of them do the same work.

enum class ClipRule {
  // Spread evenly from the first to the last frame, positions rounded down: the
  // public benchmark's rule.
  kUniform,
  // Consecutive frames, from a start drawn by the seed.
  kConsecutive,
};

// `uniform` or `consecutive`. InvalidArgument names both.
absl::StatusOr<ClipRule> ParseClipRule(absl::string_view text);
std::string ClipRuleName(ClipRule rule);

// The frame numbers, in display order from 0, of a clip of `length` frames from
// a video of `num_frames`. For a shorter video, all its frames, with the last
// one repeated. `item` is the video's number in its data set; it and `seed`
// draw the start. REQUIRES: num_frames >= 1, length >= 1.
std::vector<int64_t> ClipFrames(ClipRule rule, int64_t num_frames, int length,
                                uint64_t seed, int64_t item);

struct ClipRequest {
  // As for images; the data set may be `synthetic:video,…`.
  LoadRequest files;
  int clip_length = 16;
  ClipRule rule = ClipRule::kUniform;
  // Draws the starts of consecutive clips.
  uint64_t seed = 0;
  // Number of clips to keep in memory, counted from the first. Negative means
  // all. The others are decoded once too, so that broken files are found before
  // anything is timed.
  int64_t kept = -1;
  // Where synthetic files are written, once.
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
  // one, regardless of `kept`.
  LoadedImages clips;
  std::vector<ClipFile> files;
};

using ClipLoader =
    std::function<absl::StatusOr<LoadedClips>(const ClipRequest&)>;
// The most clips per second that this many threads can decode.
using ClipLimit = std::function<absl::StatusOr<double>(
    const std::vector<ClipFile>&, int threads)>;

// The pattern: a frame's number, drawn into its pixels, which proves that a
// decoder returned the requested frame.
//
// Along the top edge lie 20 squares, black or white: white, black, twelve bits
// of the number with the highest first, four of a checksum, black, white.
// Squares are as large as the width allows, so compression and resampling leave
// them readable.

// Number of frames that can be told apart.
inline constexpr int64_t kPatternNumbers = 4096;
// Narrower frames have no room for the pattern.
inline constexpr int kMinPatternWidth = 80;

// Side of a square in a frame of this width.
int PatternSquare(int width);

// Whether pixel (x, y) of the frame is white; nothing outside the pattern.
std::optional<bool> PatternAt(int64_t number, int width, int x, int y);

// The number that an RGB frame shows; nothing when there is no pattern or its
// checksum is wrong.
std::optional<int64_t> ReadPattern(const ImageView& frame);

}  // namespace feedrate
