// Decoded frames as RGB. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_FRAME_RGB_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_FRAME_RGB_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lib/media/video/av.h"
#include "lib/media/video/yuv_weights.h"

namespace feedrate {

// Converts frames of one video. What most videos are, 8 bits with chroma of
// half the size, has a loop of its own, several times as fast as libswscale's
// and within two levels of it; all else, up to 16 bits, goes through
// libswscale. Matrix and range are those that the frame names: BT.601 and
// limited where it names none. Not thread-safe.
class FrameRgb {
 public:
  // Writes rows of `frame` without gaps: height x width x 3 bytes.
  absl::Status Convert(const AVFrame& frame, uint8_t* rgb);

 private:
  absl::Status Scale(const AVFrame& frame, uint8_t* rgb);

  AvPtr<SwsContext> scaler_;
};

// By matrix and range, as above.
YuvWeights WeightsOf(AVColorSpace matrix, bool full_range);
YuvWeights WeightsOf(const AVFrame& frame);

// The fast one. REQUIRES: a frame of 8-bit 4:2:0.
void ConvertYuv420(const AVFrame& frame, uint8_t* rgb);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_FRAME_RGB_H_
