// Which frames of a video are its clip. Every decoder is asked for the frames
// that this says, so that all of them do the same work.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_CLIP_RULE_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_CLIP_RULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

enum class ClipRule {
  // Spread evenly from the first to the last frame, positions cut to whole
  // numbers: the public benchmark's rule.
  kUniform,
  // In a row, from a start that the seed draws.
  kConsecutive,
};

// `uniform` or `consecutive`. InvalidArgument names both.
absl::StatusOr<ClipRule> ParseClipRule(absl::string_view text);
std::string ClipRuleName(ClipRule rule);

// The positions, in display order from 0, of a clip of `length` frames from a
// video of `num_frames`. A shorter video gives all its frames and repeats the
// last. `item` is the video's number in its data set; it and `seed` draw the
// start. REQUIRES: num_frames >= 1, length >= 1.
std::vector<int64_t> ClipFrames(ClipRule rule, int64_t num_frames, int length,
                                uint64_t seed, int64_t item);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_CLIP_RULE_H_
