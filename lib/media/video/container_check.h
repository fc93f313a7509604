// Whether a video file is whole. FFmpeg skips what it does not understand, and
// takes the end of a file for the end of its video. For lib/media/video only.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/clip_reader.h"

namespace feedrate {

// InvalidArgument, with the place, if the file ends before one of its largest
// parts does. Reads a few headers. OK for other files than AVI, MP4/MOV,
// Matroska and WebM.
absl::Status CheckNotCut(const VideoPlace& place);

// The number of frames in the chunks and blocks of an AVI or Matroska file, or
// in the index of an AVI file if it has more:
// those of stream number `stream` (AVI), or of the track whose first block is
// at byte `first` (Matroska). InvalidArgument, with the place, if the structure
// of the file is broken, or a checksum in it is wrong. Reads the file to its
// end. -1 for other formats.
absl::StatusOr<int64_t> CountStored(const VideoPlace& place, int stream,
                                    int64_t first);

}  // namespace feedrate
