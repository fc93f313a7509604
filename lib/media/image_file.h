// Encoded images of any kind that feedrate reads: JPEG and PNG, told apart by
// their first bytes.
#ifndef FEEDRATE_LIB_MEDIA_IMAGE_FILE_H_
#define FEEDRATE_LIB_MEDIA_IMAGE_FILE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/image_info.h"

namespace feedrate {

// Size and channels of the image that begins with `bytes`, if feedrate can
// decode it to RGB. OutOfRange when more bytes are needed to tell. Otherwise
// InvalidArgument with a reason for people: another format, no colour, CMYK,
// too large.
absl::StatusOr<ImageInfo> ReadImageHeader(absl::string_view bytes);

// Writes `height` x `width` x 3 bytes, the sizes that ReadImageHeader gave, to
// `rgb`. See jpeg.h and png.h for what is refused. Thread-safe.
absl::Status DecodeImageInto(absl::string_view bytes, int height, int width,
                             uint8_t* rgb);

// The same in memory of its own.
absl::StatusOr<Image> DecodeImage(absl::string_view bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_IMAGE_FILE_H_
