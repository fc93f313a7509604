// Images that are neither JPEG nor PNG: WebP (libwebp), BMP and binary PGM and
// PPM (readers of our own). image_file.h tells formats apart and calls these.
//
// Read*Header: OutOfRange when more bytes are needed, InvalidArgument with a
// reason when it is not decoded. Decode*: writes `height` x `width` x 3 bytes
// of RGB, the sizes that the header gave, and drops transparency.
// InvalidArgument for a file that is damaged or truncated, or has another size;
// `rgb` may have been written to.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"

namespace feedrate {

// Lossy and lossless, with or without transparency. Not animated.
bool IsWebp(absl::string_view bytes);
absl::StatusOr<ImageInfo> ReadWebpHeader(absl::string_view bytes);
absl::Status DecodeWebp(absl::string_view bytes, int height, int width,
                        uint8_t* rgb);

// Palettes of 1, 4 and 8 bits, colors of 16, 24 and 32 bits. Not run-length
// encoded.
bool IsBmp(absl::string_view bytes);
absl::StatusOr<ImageInfo> ReadBmpHeader(absl::string_view bytes);
absl::Status DecodeBmp(absl::string_view bytes, int height, int width,
                       uint8_t* rgb);

// P5 (gray) and P6 (color) of 8 bits.
bool IsPnm(absl::string_view bytes);
absl::StatusOr<ImageInfo> ReadPnmHeader(absl::string_view bytes);
absl::Status DecodePnm(absl::string_view bytes, int height, int width,
                       uint8_t* rgb);

}  // namespace feedrate
