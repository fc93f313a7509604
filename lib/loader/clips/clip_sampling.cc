#include "lib/loader/clips/clip_sampling.h"

#include <algorithm>
#include <cmath>

#include "lib/base/allowed_sizes.h"
#include "lib/media/video/clips.h"

namespace feedrate {
namespace {

// So that 3 x 0.1 s is the frame at 0.3 s, whatever rounding does.
constexpr double kToleranceS = 1e-6;

// From the first frame of a clip to its last, in frames or seconds.
double SpanOf(const ClipTiming& timing) {
  return (timing.frames - 1) * timing.stride;
}

double StepOf(const ClipTiming& timing) {
  return timing.step > 0 ? timing.step : timing.frames * timing.stride;
}

// Where the last clip that is whole can start, or 0.
double LastStart(const ClipTiming& timing, const ClipVideo& video) {
  const double end = timing.in_seconds ? video.times.back()
                                       : static_cast<double>(video.frames - 1);
  return std::max(0.0, end - SpanOf(timing));
}

double StartOf(const ClipTiming& timing, const ClipVideo& video, int64_t clip,
               Random* random) {
  const double last = LastStart(timing, video);
  switch (timing.sampling) {
    case ClipSampling::kRandom:
      return timing.in_seconds ? random->Unit() * last
                               : static_cast<double>(random->Below(
                                     static_cast<uint64_t>(last) + 1));
    case ClipSampling::kConsecutive: {
      const double start = timing.clips == 1
                               ? last / 2
                               : static_cast<double>(clip) * last /
                                     static_cast<double>(timing.clips - 1);
      return timing.in_seconds ? start : std::floor(start);
    }
    case ClipSampling::kDense:
      return static_cast<double>(clip) * StepOf(timing);
    case ClipSampling::kUniform:
      break;
  }
  return 0;
}

// The frame that is shown at a time, or the last one.
int64_t FrameAt(const ClipVideo& video, double seconds) {
  return std::upper_bound(video.times.begin() + 1, video.times.end(),
                          seconds + kToleranceS) -
         video.times.begin() - 1;
}

}  // namespace

int64_t CountClips(const ClipTiming& timing, const ClipVideo& video) {
  if (timing.sampling != ClipSampling::kDense) return timing.clips;
  const double more = std::floor(LastStart(timing, video) / StepOf(timing) +
                                 (timing.in_seconds ? kToleranceS : 0));
  return more < kMaxDatasetObjects ? 1 + static_cast<int64_t>(more)
                                   : kMaxDatasetObjects;
}

std::vector<int64_t> FramesOfClip(const ClipTiming& timing,
                                  const ClipVideo& video, int64_t clip,
                                  Random* random) {
  std::vector<int64_t> frames(timing.frames);
  if (timing.sampling == ClipSampling::kUniform) {
    const std::vector<int64_t> all =
        ClipFrames(ClipRule::kUniform, video.frames,
                   timing.frames * timing.clips, /*seed=*/0, /*item=*/0);
    for (int i = 0; i < timing.frames; ++i) {
      frames[i] = all[i * timing.clips + clip];
    }
    return frames;
  }
  const double start = StartOf(timing, video, clip, random);
  for (int i = 0; i < timing.frames; ++i) {
    const double at = start + i * timing.stride;
    const auto last = static_cast<double>(video.frames - 1);
    frames[i] = timing.in_seconds ? FrameAt(video, at)
                                  : static_cast<int64_t>(std::min(at, last));
  }
  return frames;
}

}  // namespace feedrate
