// Frames of an episode into their places in a batch.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_FRAME_DECODER_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_FRAME_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

// Height and width of all frames of a batch, RGB of one byte a channel.
struct FrameShape {
  int height = 0;
  int width = 0;
  size_t bytes() const { return size_t{3} * height * width; }
};

// Decodes the centre of frames that are larger, and puts zeros around those
// that are smaller: what tf.image.resize_with_crop_or_pad makes of them. Only
// what is kept is decoded. Not thread-safe: one for each thread.
class FrameDecoder {
 public:
  // Writes shape.bytes() to `out`. InvalidArgument when `jpeg` is none, or is
  // damaged.
  absl::Status Decode(absl::string_view jpeg, const FrameShape& shape,
                      uint8_t* out);

 private:
  JpegRegionDecoder decoder_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_FRAME_DECODER_H_
