// What FFmpeg itself reaches on the clips of a data set.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_DECODE_LIMIT_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_DECODE_LIMIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/video/clip_set.h"

namespace feedrate {

// Clips a second on `threads` threads, each with clips of its own, when
// everything is known beforehand: which packets each clip needs, and which
// frame comes out of which. What is timed is to open the file, read up to the
// last packet needed, decode those, convert the clip's frames and close. A few
// clips for each thread, for some 200 ms; the best pass.
absl::StatusOr<double> DecodeLimit(const std::vector<ClipFile>& files,
                                   int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_DECODE_LIMIT_H_
