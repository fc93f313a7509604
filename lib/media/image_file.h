// Encoded images: JPEG (libjpeg-turbo), PNG (libpng) and those of
// other_formats.h, told apart by their first bytes, and numpy arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"

namespace feedrate {

// Endings of the names of images that are read: lower case, no dot.
const std::vector<std::string>& ImageEndings();

// True if the name has one of these endings, in any case.
bool IsImageName(absl::string_view name);

// Size and channels of the image that begins with `bytes`, if feedrate can
// decode it to RGB. OutOfRange when more bytes are needed. Otherwise
// InvalidArgument with a readable reason: another format, too large.
absl::StatusOr<ImageInfo> ReadImageHeader(absl::string_view bytes);

// Writes `height` x `width` x 3 bytes, the sizes that ReadImageHeader gave, to
// `rgb`. See DecodeJpeg, DecodePng and other_formats.h for what is rejected.
// Thread-safe.
absl::Status DecodeImageInto(absl::string_view bytes, int height, int width,
                             uint8_t* rgb);

// The same, into a new image.
absl::StatusOr<Image> DecodeImage(absl::string_view bytes);

// True when `bytes` start like a PNG.
bool IsPng(absl::string_view bytes);

// The first 33 bytes of a file are enough. OutOfRange with fewer;
// InvalidArgument when it is not a PNG.
absl::StatusOr<ImageInfo> ReadPngHeader(absl::string_view bytes);

// Writes RGB of `height` x `width` x 3 bytes to `rgb`. Palettes and gray become
// colors, 16 bits become the upper 8, transparency is dropped, and no gamma or
// color profile is applied. InvalidArgument for an image of another size, and
// one that is damaged or truncated. On failure `rgb` may have been written to.
absl::Status DecodePng(absl::string_view bytes, int height, int width,
                       uint8_t* rgb);

// An array as numpy.save writes it: version 1, little-endian, C order, of bytes
// or float32. A view: `data` lies in the file's bytes.
struct NpyView {
  // `uint8` or `float32`.
  std::string dtype;
  std::vector<int> shape;
  absl::string_view data;
};

// True when `bytes` start like an array.
bool IsNpy(absl::string_view bytes);

// InvalidArgument says what is not understood.
absl::StatusOr<NpyView> ViewNpy(absl::string_view file);

// The pixels as such an array, of shape (height, width, channels).
std::string PrintNpy(const ImageView& image);

// JPEG uses the accurate integer transform, so that decoder and encoder give
// the same bytes on every machine.

// True when `bytes` start like a JPEG.
bool IsJpeg(absl::string_view bytes);

// OutOfRange when `bytes` end before the size of the image is known, as the
// beginning of a file may; InvalidArgument when it is not a JPEG.
absl::StatusOr<ImageInfo> ReadJpegHeader(absl::string_view bytes);

// Writes RGB of `height` x `width` x 3 bytes to `rgb`. Gray becomes RGB, and
// CMYK does as in Pillow. InvalidArgument for an image of another size, or one
// that is damaged or truncated: the output of a lenient decoder would differ
// between machines. An EXIF orientation is not applied. On failure `rgb` may
// have been written to.
absl::Status DecodeJpeg(absl::string_view bytes, int height, int width,
                        uint8_t* rgb);

enum class Subsampling { k444, k422, k420 };

struct JpegOptions {
  int quality = 95;  // 1 to 100, as libjpeg counts.
  Subsampling subsampling = Subsampling::k420;
};

// Encodes a baseline JPEG with the standard Huffman tables. REQUIRES: 3
// channels and sides of at most 65,500.
absl::StatusOr<std::string> EncodeJpeg(const ImageView& image,
                                       const JpegOptions& options);

}  // namespace feedrate
