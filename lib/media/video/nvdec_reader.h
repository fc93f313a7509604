// Clips of video files on the device: NVDEC decodes, our own way through the
// file decides what. lib/media/video/clip_reader.h is the same on the CPU.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_READER_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_READER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/nvdec_counts.h"
#include "lib/media/video/video_info.h"

namespace feedrate {

// One thread's decoder, which goes from file to file with one session of the
// engine: to make a session takes longer than a clip. Not thread-safe;
// different ones may be used at once.
//
//   ASSIGN_OR_RETURN(auto reader, NvdecReader::Create(stream));
//   ASSIGN_OR_RETURN(const VideoInfo info, reader->Open(path));
//   RETURN_IF_ERROR(reader->Read(frames, rgb_on_device));
class NvdecReader {
 public:
  // On the first device; `stream` outlives it. Unavailable says in one line
  // what is missing: a GPU, its driver, or the part of it that decodes.
  static absl::StatusOr<std::unique_ptr<NvdecReader>> Create(
      cudaStream_t stream);
  virtual ~NvdecReader() = default;

  // Fails as ClipReader::Open does.
  virtual absl::StatusOr<VideoInfo> Open(const std::string& path) = 0;

  // Writes frames of the open file to device memory, as ClipReader::Read does
  // on the host, and is done when it returns. Frames of a file that is not the
  // engine's (10 bits, 4:4:4, odd sizes, VP9 that does not say its colours, a
  // codec that it lacks) are decoded by the CPU and copied. `rgb` null: frames
  // are decoded and dropped, which is what the engine costs alone.
  virtual absl::Status Read(const std::vector<int64_t>& frames,
                            uint8_t* rgb) = 0;

  // Frames of clips so far that an engine decoded, and that the CPU did.
  virtual int64_t engine_frames() const = 0;
  virtual int64_t cpu_frames() const = 0;
  virtual const NvdecCounts& counts() const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_NVDEC_READER_H_
