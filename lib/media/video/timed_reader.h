// Frames of a video by the time when they are shown, in any order, without
// reading the whole file: for a few frames of a long video.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Not thread-safe; different readers may be used concurrently.
class TimedReader {
 public:
  // A frame is shown at a time if it is this close to it, as in lerobot.
  static constexpr double kToleranceS = 1e-4;

  // InvalidArgument, with the reason, for files that cannot be decoded; see
  // ClipReader.
  static absl::StatusOr<std::unique_ptr<TimedReader>> Open(
      const std::string& path);
  // The same for a file in memory, which must outlive the reader.
  static absl::StatusOr<std::unique_ptr<TimedReader>> OpenBytes(
      absl::string_view bytes);
  virtual ~TimedReader() = default;

  virtual int height() const = 0;
  virtual int width() const = 0;
  int64_t FrameBytes() const { return int64_t{3} * height() * width(); }

  // Writes the frame as RGB, FrameBytes(). Frames that follow each other cost
  // least. InvalidArgument if there is no such frame (the message has the time
  // of the nearest), and for a frame that is damaged or has another size.
  virtual absl::Status Read(double seconds, uint8_t* rgb) = 0;
};

}  // namespace feedrate
