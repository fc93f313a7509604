// Which frames of a video make a clip.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ops/params.h"

namespace feedrate {

enum class ClipSampling {
  // From a start that is drawn for each clip and epoch.
  kRandom,
  // Spread evenly from the first to the last frame of the video, positions
  // rounded down. Of several clips, each takes every so manyth of as many
  // positions as all have together.
  kUniform,
  // From the middle of the video; several clips start at even distances, the
  // first at the first frame, and the last as late as possible.
  kConsecutive,
  // All that there are: the first at the first frame, each next one `step`
  // frames later.
  kDense,
};

struct ClipTiming {
  ClipSampling sampling = ClipSampling::kRandom;
  int frames = 16;
  // Stride and step are seconds, otherwise frames. A time has the frame that is
  // shown then.
  bool in_seconds = false;
  // From one frame to the next, above 0; kUniform has its own.
  double stride = 1;
  // Clips of a video; kDense: of a video of unknown length, not used.
  int clips = 1;
  // 0: as many frames as a clip spans, so that clips do not overlap.
  double step = 0;
};

// A video: how many frames, and when they are shown if the timing is in
// seconds.
struct ClipVideo {
  int64_t frames = 1;
  std::vector<double> times;
};

// The number of its clips, kMaxDatasetObjects at most. REQUIRES: it has a
// frame.
int64_t CountClips(const ClipTiming& timing, const ClipVideo& video);

// The numbers of a clip's frames, from 0, ascending. A clip that goes beyond
// the last frame repeats that. REQUIRES: `clip` is one of the video's.
std::vector<int64_t> FramesOfClip(const ClipTiming& timing,
                                  const ClipVideo& video, int64_t clip,
                                  Random* random);

}  // namespace feedrate
