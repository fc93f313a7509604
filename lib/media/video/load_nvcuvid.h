// Finds NVDEC's library. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_LOAD_NVCUVID_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_LOAD_NVCUVID_H_

#include "absl/status/statusor.h"

namespace feedrate {

struct Nvcuvid;

// Its functions; the library stays loaded. Unavailable in one line where the
// driver's video part is missing. Thread-safe.
absl::StatusOr<const Nvcuvid*> LoadNvcuvid();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_LOAD_NVCUVID_H_
