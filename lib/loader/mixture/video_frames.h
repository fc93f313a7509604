// Frames that are in videos.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"

namespace feedrate {

// Stands for a frame of a video where other data sets have a JPEG.
std::string VideoFrameName(absl::string_view path, double seconds);
bool IsVideoFrame(absl::string_view frame);

// Keeps the last videos open. Not thread-safe.
class VideoFrames {
 public:
  VideoFrames();
  ~VideoFrames();
  VideoFrames(const VideoFrames&) = delete;
  VideoFrames& operator=(const VideoFrames&) = delete;

  // Decodes a frame, which is valid until the next call. InvalidArgument names
  // the video and what is wrong; Unavailable says that the library is missing.
  absl::StatusOr<ImageView> Decode(absl::string_view frame);

  // Upper bound of its memory use so far. Thread-safe.
  int64_t memory_bound_bytes() const { return bound_bytes_; }

 private:
  struct Open;

  // The last one used comes first.
  std::vector<Open> open_;
  std::vector<uint8_t> pixels_;
  std::atomic<int64_t> bound_bytes_{0};
};

}  // namespace feedrate
