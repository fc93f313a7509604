// Parts of a JPEG by libjpeg-turbo, for every kind of file that it reads. See
// jpeg_region.h, which is what callers want; alone it is the measure of what a
// machine can decode.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_REGION_TURBO_H_
#define FEEDRATE_LIB_MEDIA_JPEG_REGION_TURBO_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image_info.h"
#include "lib/media/jpeg_baseline_picture.h"
#include "lib/media/jpeg_region_options.h"

namespace feedrate {

// As JpegRegionDecoder.
class JpegTurboRegion {
 public:
  JpegTurboRegion();
  ~JpegTurboRegion();
  JpegTurboRegion(const JpegTurboRegion&) = delete;
  JpegTurboRegion& operator=(const JpegTurboRegion&) = delete;

  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);
  absl::Status Decode(const JpegRegion& region,
                      const JpegRegionOptions& options, uint8_t* rgb,
                      size_t stride_bytes);

  // What libjpeg read of the headers, when the file is a baseline one of the
  // common kinds; good until the next call. False for others. REQUIRES: Open
  // was the last call and returned OK.
  bool GetBaseline(JpegBaselinePicture* picture) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_REGION_TURBO_H_
