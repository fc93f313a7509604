// Clips of video files: exactly the frames asked for, and no work for others
// that can be left out.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_CLIP_READER_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_CLIP_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/video_info.h"

namespace feedrate {

// One video. Not thread-safe; different ones may be used at once.
//
//   ASSIGN_OR_RETURN(auto clip, ClipReader::Open(path, /*threads=*/1));
//   std::vector<uint8_t> rgb(16 * clip->FrameBytes());
//   RETURN_IF_ERROR(clip->Read(frames, rgb.data()));
class ClipReader {
 public:
  // InvalidArgument with the reason for what is no video that can be decoded:
  // another format than AVI, MP4/MOV, Matroska/WebM, no video stream, no frame,
  // cut off. `threads` are the decoder's own; 0: as many as it likes.
  static absl::StatusOr<std::unique_ptr<ClipReader>> Open(
      const std::string& path, int threads);
  // The same of a file in memory, which outlives the reader.
  static absl::StatusOr<std::unique_ptr<ClipReader>> OpenBytes(
      absl::string_view bytes, int threads);
  virtual ~ClipReader() = default;

  virtual const VideoInfo& info() const = 0;
  int64_t FrameBytes() const { return FrameBytesOf(info()); }

  // Writes the frames with these numbers, in display order from 0, as RGB: one
  // after the other, height x width x 3 bytes each. Numbers rise and may
  // repeat. A number that there is not, and a frame that is damaged or of
  // another size than the first, are InvalidArgument. On failure `rgb` may have
  // been written to. A rotation that the file asks for is not applied: as with
  // images, pixels are as stored.
  virtual absl::Status Read(const std::vector<int64_t>& frames,
                            uint8_t* rgb) = 0;
};

// Version of the FFmpeg that decodes.
std::string ClipReaderVersion();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_CLIP_READER_H_
