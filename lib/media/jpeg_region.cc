#include "lib/media/jpeg_region.h"

namespace feedrate {

absl::StatusOr<ImageInfo> JpegRegionDecoder::Open(absl::string_view bytes) {
  return turbo_.Open(bytes);
}

absl::Status JpegRegionDecoder::Decode(const JpegRegion& region,
                                       const JpegRegionOptions& options,
                                       uint8_t* rgb, size_t stride_bytes) {
  return turbo_.Decode(region, options, rgb, stride_bytes);
}

}  // namespace feedrate
