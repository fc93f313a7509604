// Decodes clips of video files on the device by NVDEC; clip_walk.h decides
// which packets. lib/media/video/clip_reader.h is the same on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/nvdec/nvdec_counts.h"

// A CUDA stream, by the name that the driver and the runtime share.
struct CUstream_st;

namespace feedrate {

// The decoder of one thread, with one session of the engine for all files:
// making a session takes longer than decoding a clip. Not thread-safe;
// different readers may be used concurrently. InvalidArgument is a fault of the
// file; other errors are those of the device.
class DeviceClipReader {
 public:
  virtual ~DeviceClipReader() = default;

  // Fails as ClipReader::Open does.
  virtual absl::StatusOr<VideoInfo> Open(const VideoPlace& place) = 0;
  // ClipReader::Times of the open file.
  virtual absl::StatusOr<std::vector<double>> Times() = 0;

  // Writes frames of the open file to device memory, as ClipReader::Read does
  // on the host; they are complete when it returns. Frames of a file that the
  // engine cannot decode (10 bits, 4:4:4, odd sizes, VP8 and VP9, a codec that
  // it lacks) are decoded by the CPU and copied. After an error, no file is
  // open.
  virtual absl::Status Read(const std::vector<int64_t>& frames,
                            uint8_t* rgb) = 0;

  // Frames of clips so far that the CPU decoded.
  virtual int64_t cpu_frames() const = 0;
};

//   ASSIGN_OR_RETURN(auto reader, NvdecReader::Create(stream));
//   ASSIGN_OR_RETURN(const VideoInfo info, reader->Open({path, {}}));
//   RETURN_IF_ERROR(reader->Read(frames, rgb_on_device));
class NvdecReader : public DeviceClipReader {
 public:
  // Uses the device that is the current one; `stream` is of that, and outlives
  // the reader. Unavailable says in one line what is missing: a GPU, its
  // driver, or the part of it that decodes.
  static absl::StatusOr<std::unique_ptr<NvdecReader>> Create(
      CUstream_st* stream);

  // Read takes a null `rgb` too: frames are decoded and dropped, to measure the
  // engine alone.

  // Frames of clips so far that the engine decoded.
  virtual int64_t engine_frames() const = 0;
  virtual const NvdecCounts& counts() const = 0;
};

}  // namespace feedrate
