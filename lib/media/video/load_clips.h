// Loads a data set of videos, one clip per video, and measures how fast FFmpeg
// itself decodes them.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/video/clips.h"

namespace feedrate {

// Loads clips in parallel. Files that cannot be decoded are skipped and listed
// with the reason, until there are `num_items`. Where the data set has fewer,
// all of them are loaded and files.size() is smaller.
//
// NotFound: no such folder, or no video in it. ResourceExhausted: they do not
// fit into memory; the message names the largest num_items that does.
absl::StatusOr<LoadedClips> LoadClips(const ClipRequest& request);

// Clips per second that FFmpeg itself reaches on `threads` threads, each with
// its own clips, when everything is known beforehand: which packets each clip
// needs, and which frame comes from which packet. The timed part opens the
// file, reads up to the last packet needed, decodes the packets, converts the
// clip's frames and closes the file. Uses a few clips per thread for some 200
// ms and returns the best pass.
absl::StatusOr<double> DecodeLimit(const std::vector<ClipFile>& files,
                                   int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_
