// FFmpeg for programs that do not link it. It needs a hundred other libraries,
// so what decodes is in libfeedrate_frames.so, which is loaded with the first
// video.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/video_plugin.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/nvdec/nvdec_reader.h"

namespace feedrate {

// InvalidArgument unless the library may be loaded into the program: it belongs
// to the owner of the program, or is private (lib/base/private_folder.h).
absl::Status CheckLibrary(const struct stat& program, const std::string& path,
                          const struct stat& library);

struct VideoLibrary {
  decltype(&feedrate_video_open) open = nullptr;
  decltype(&feedrate_video_read) read = nullptr;
  decltype(&feedrate_video_close) close = nullptr;
  decltype(&feedrate_clip_open) open_clip = nullptr;
  decltype(&feedrate_clip_times) times_of_clip = nullptr;
  decltype(&feedrate_clip_read) read_clip = nullptr;
  decltype(&feedrate_clip_close) close_clip = nullptr;
  // Null in a library without CUDA.
  decltype(&feedrate_nvdec_new) new_nvdec = nullptr;
  decltype(&feedrate_nvdec_open) open_nvdec = nullptr;
  decltype(&feedrate_nvdec_times) times_of_nvdec = nullptr;
  decltype(&feedrate_nvdec_read) read_nvdec = nullptr;
  decltype(&feedrate_nvdec_delete) delete_nvdec = nullptr;
};

// Unavailable says why there is none.
const absl::StatusOr<VideoLibrary>& TheVideoLibrary();

// ClipReader::Open and, if `path` is null, OpenBytes of that library.
absl::StatusOr<std::unique_ptr<ClipReader>> OpenClip(const char* path,
                                                     absl::string_view bytes);
// NvdecReader::Create of that library.
absl::StatusOr<std::unique_ptr<DeviceClipReader>> NewNvdecReader(
    int device, CUstream_st* stream);

}  // namespace feedrate
