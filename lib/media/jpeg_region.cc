#include "lib/media/jpeg_region.h"

#include "lib/base/status_macros.h"

namespace feedrate {

absl::StatusOr<ImageInfo> JpegRegionDecoder::Open(absl::string_view bytes) {
  ASSIGN_OR_RETURN(info_, turbo_.Open(bytes));
  is_baseline_ = turbo_.GetBaseline(&picture_);
  return info_;
}

absl::Status JpegRegionDecoder::Decode(const JpegRegion& region,
                                       const JpegRegionOptions& options,
                                       uint8_t* rgb, size_t stride_bytes) {
  RETURN_IF_ERROR(CheckJpegRegion(region, options, info_));
  if (is_baseline_ && options.scale == 1 && options.exact_dct &&
      options.smooth_colours &&
      baseline_.Decode(picture_, region, rgb, stride_bytes)) {
    return absl::OkStatus();
  }
  // The tables in `picture_` may move.
  is_baseline_ = false;
  return turbo_.Decode(region, options, rgb, stride_bytes);
}

}  // namespace feedrate
