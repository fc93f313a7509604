// JPEG by libjpeg-turbo: the accurate integer transform, so that decoder and
// encoder give the same bytes on every machine.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_H_
#define FEEDRATE_LIB_MEDIA_JPEG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/image_info.h"

namespace feedrate {

// True when `bytes` begin like a JPEG.
bool IsJpeg(absl::string_view bytes);

// OutOfRange when `bytes` end before the size of the image is known, which the
// beginning of a file may; InvalidArgument when it is no JPEG.
absl::StatusOr<ImageInfo> ReadJpegHeader(absl::string_view bytes);

// Writes RGB of `height` x `width` x 3 bytes to `rgb`. An image of another size
// or of other than three channels is InvalidArgument, and so is one that is
// damaged or cut off: what a lenient decoder would make of it is not the same
// everywhere. An EXIF orientation is not applied. On failure `rgb` may have
// been written to.
absl::Status DecodeJpeg(absl::string_view bytes, int height, int width,
                        uint8_t* rgb);

enum class Subsampling { k444, k422, k420 };

struct JpegOptions {
  int quality = 95;  // 1 to 100, as libjpeg counts.
  Subsampling subsampling = Subsampling::k420;
};

// Baseline, with the standard Huffman tables. REQUIRES: 3 channels and sides of
// at most 65,500.
absl::StatusOr<std::string> EncodeJpeg(const ImageView& image,
                                       const JpegOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_H_
