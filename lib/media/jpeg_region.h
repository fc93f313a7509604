// The part of a JPEG that a crop needs, and little more work than that part is:
// rows above it are only passed over, columns beside it never become pixels,
// and reading stops with its last row.
//
// The pixels are those of DecodeJpeg (lib/media/jpeg.h), byte for byte, at
// every edge of the region.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_REGION_H_
#define FEEDRATE_LIB_MEDIA_JPEG_REGION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image_info.h"
#include "lib/media/jpeg_baseline.h"
#include "lib/media/jpeg_baseline_picture.h"
#include "lib/media/jpeg_region_options.h"
#include "lib/media/jpeg_region_turbo.h"

namespace feedrate {

// Decodes one picture after the other; after the largest it allocates no more
// (progressive files excepted). Not thread-safe: one for each thread.
class JpegRegionDecoder {
 public:
  // Size and channels of a picture. Grey (1) and colour (3) can be decoded,
  // both to RGB; others and more than kMostPixels are InvalidArgument.
  // `bytes` are used by Decode: they must live and stay the same until then.
  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);

  // Writes rows of `region.width` x 3 bytes, `stride_bytes` apart, to `rgb`.
  // May be called again for another region. What is damaged or cut off up to
  // the region's last row is InvalidArgument; what follows is not looked at.
  // An EXIF orientation is not applied. On failure `rgb` may have been written
  // to. REQUIRES: the last Open returned OK.
  absl::Status Decode(const JpegRegion& region,
                      const JpegRegionOptions& options, uint8_t* rgb,
                      size_t stride_bytes);

 private:
  JpegTurboRegion turbo_;
  JpegBaselineRegion baseline_;
  ImageInfo info_;
  // Good for `baseline_` until `turbo_` begins to decode.
  JpegBaselinePicture picture_;
  bool is_baseline_ = false;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_REGION_H_
