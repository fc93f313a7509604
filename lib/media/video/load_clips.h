// Loads a data set of videos, one clip per video, and measures how fast FFmpeg
// itself decodes them.
#pragma once

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

// Clips per second on `threads` threads, each with its own clips, by the faster
// of two ways. One is FFmpeg itself when everything is known beforehand: which
// packets each clip needs, and which frame comes from which packet; it opens
// the file, reads up to the last packet needed, decodes the packets, converts
// the clip's frames and closes the file. The other is our own reader. Uses up
// to 16 clips, evenly spaced, per thread, and the best pass.
absl::StatusOr<double> DecodeLimit(const std::vector<ClipFile>& files,
                                   int threads);

}  // namespace feedrate
