// A data set of videos, of which one clip each is decoded.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_

#include "absl/status/statusor.h"
#include "lib/media/video/clip_set.h"

namespace feedrate {

// Loads clips in parallel. What cannot be decoded is passed over, named with
// its reason, and the next file taken, until there are `num_items`; where the
// data set has fewer, all of them are loaded and files.size() tells.
//
// NotFound: no such folder, or no video in it. ResourceExhausted: they do not
// fit into memory; the message names the largest num_items that does.
absl::StatusOr<LoadedClips> LoadClips(const ClipRequest& request);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_LOAD_CLIPS_H_
