// PNG by libpng.
#ifndef FEEDRATE_LIB_MEDIA_PNG_H_
#define FEEDRATE_LIB_MEDIA_PNG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image_info.h"

namespace feedrate {

// True when `bytes` begin like a PNG.
bool IsPng(absl::string_view bytes);

// The first 33 bytes of a file are enough. OutOfRange with fewer;
// InvalidArgument when it is no PNG.
absl::StatusOr<ImageInfo> ReadPngHeader(absl::string_view bytes);

// Writes RGB of `height` x `width` x 3 bytes to `rgb`. Palettes become colours,
// 16 bits become the upper 8, transparency is dropped, and no gamma or colour
// profile is applied. An image of another size, one without colour, and one
// that is damaged or cut off are InvalidArgument. On failure `rgb` may have
// been written to.
absl::Status DecodePng(absl::string_view bytes, int height, int width,
                       uint8_t* rgb);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_PNG_H_
