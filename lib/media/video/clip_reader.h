// Decodes clips of video files: exactly the requested frames, skipping others
// where possible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// The file: a path, or bytes that outlive everything made from them.
struct VideoPlace {
  std::string path;
  absl::string_view bytes;
};

struct VideoInfo {
  int height = 0;
  int width = 0;
  int64_t frames = 0;
  std::string codec;  // Such as `mpeg4` or `h264`.
};

// Bytes of a frame as RGB.
inline int64_t FrameBytesOf(const VideoInfo& info) {
  return int64_t{3} * info.height * info.width;
}

// Part of a frame. REQUIRES of those who get one: it lies in the frame.
struct FrameWindow {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// One video. Not thread-safe; different readers may be used concurrently.
//
//   ASSIGN_OR_RETURN(auto clip, ClipReader::Open(path, /*threads=*/1));
//   std::vector<uint8_t> rgb(16 * clip->FrameBytes());
//   RETURN_IF_ERROR(clip->Read(frames, rgb.data()));
class ClipReader {
 public:
  // InvalidArgument, with the reason, for files that cannot be decoded: another
  // format than AVI, MP4/MOV, Matroska/WebM, no video stream, no frame,
  // truncated. `threads` are the decoder's own; 0 lets the decoder choose.
  static absl::StatusOr<std::unique_ptr<ClipReader>> Open(
      const std::string& path, int threads);
  // The same for a file in memory, which must outlive the reader.
  static absl::StatusOr<std::unique_ptr<ClipReader>> OpenBytes(
      absl::string_view bytes, int threads);
  virtual ~ClipReader() = default;

  virtual const VideoInfo& info() const = 0;
  int64_t FrameBytes() const { return FrameBytesOf(info()); }

  // When each frame is shown, in seconds after the first; AVI says it by its
  // rate. InvalidArgument if the file does not say it.
  virtual absl::StatusOr<std::vector<double>> Times() = 0;

  // Writes the frames with these numbers, in display order from 0, as RGB: one
  // after the other, height x width x 3 bytes each. Numbers ascend and may
  // repeat. InvalidArgument for a number that does not exist, and for a frame
  // that is damaged or has another size than the first. On failure `rgb` may
  // have been written to. Rotation metadata is not applied: as with images,
  // pixels are as stored.
  virtual absl::Status Read(const std::vector<int64_t>& frames,
                            uint8_t* rgb) = 0;

  // Gets the pixels of a window, without gaps, which are valid during the call.
  // They belong to frames number first ... first+count-1 of those asked for.
  using TakeFrame =
      std::function<void(int64_t first, int64_t count, const uint8_t* rgb)>;
  // The same, frame by frame, not in order, and only `window` of each: the rest
  // is not converted.
  virtual absl::Status ReadEach(const std::vector<int64_t>& frames,
                                const FrameWindow& window,
                                const TakeFrame& take) = 0;
};

// Version of the FFmpeg that decodes.
std::string ClipReaderVersion();

}  // namespace feedrate
