// Decodes clips of video files on the device by NVDEC; clip_walk.h decides
// which packets. lib/media/video/clip_reader.h is the same on the CPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/nvdec/nvdec_counts.h"

namespace feedrate {

// The decoder of one thread, with one session of the engine for all files:
// making a session takes longer than decoding a clip. Not thread-safe;
// different readers may be used concurrently.
//
//   ASSIGN_OR_RETURN(auto reader, NvdecReader::Create(stream));
//   ASSIGN_OR_RETURN(const VideoInfo info, reader->Open(path));
//   RETURN_IF_ERROR(reader->Read(frames, rgb_on_device));
class NvdecReader {
 public:
  // Uses the first device; `stream` outlives the reader. Unavailable says in
  // one line what is missing: a GPU, its driver, or the part of it that
  // decodes.
  static absl::StatusOr<std::unique_ptr<NvdecReader>> Create(
      cudaStream_t stream);
  virtual ~NvdecReader() = default;

  // Fails as ClipReader::Open does.
  virtual absl::StatusOr<VideoInfo> Open(const std::string& path) = 0;

  // Writes frames of the open file to device memory, as ClipReader::Read does
  // on the host; they are complete when it returns. Frames of a file that the
  // engine cannot decode (10 bits, 4:4:4, odd sizes, VP8 and VP9, a codec that
  // it lacks) are decoded by the CPU and copied. With a null `rgb`, frames are
  // decoded and dropped, to measure the engine alone.
  virtual absl::Status Read(const std::vector<int64_t>& frames,
                            uint8_t* rgb) = 0;

  // Frames of clips so far that the engine decoded, and that the CPU decoded.
  virtual int64_t engine_frames() const = 0;
  virtual int64_t cpu_frames() const = 0;
  virtual const NvdecCounts& counts() const = 0;
};

}  // namespace feedrate
