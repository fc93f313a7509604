// Converts decoded frames to RGB. For lib/media/video only.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/yuv.h"

namespace feedrate {

// Converts frames of one video. The common formats, 8, 10 or 12 bits with
// chroma of half the size, have their own loops, many times as fast as
// libswscale's and, for 8 bits, within two levels of it: two by two pixels
// share a chroma sample. All others, up to 16 bits, go through libswscale. Uses
// the matrix and range that the frame names; BT.601 and limited range where it
// names none. Not thread-safe.
class FrameRgb {
 public:
  // Writes rows of `frame` without gaps: height x width x 3 bytes.
  absl::Status Convert(const AVFrame& frame, uint8_t* rgb) {
    return Convert(frame, {0, 0, frame.width, frame.height}, rgb);
  }
  // The same for a part of it: the pixels are those of the whole frame.
  absl::Status Convert(const AVFrame& frame, const FrameWindow& window,
                       uint8_t* rgb);

 private:
  absl::Status Scale(const AVFrame& frame, const FrameWindow& window,
                     uint8_t* rgb);

  AvPtr<SwsContext> scaler_;
  std::vector<uint8_t> scaled_;
};

// The weights for a matrix and range, as above.
YuvWeights WeightsOf(AVColorSpace matrix, bool full_range);
YuvWeights WeightsOf(const AVFrame& frame);

// The fast loop. REQUIRES: a frame of 8-bit 4:2:0.
void ConvertYuv420(const AVFrame& frame, const FrameWindow& window,
                   uint8_t* rgb);

}  // namespace feedrate
