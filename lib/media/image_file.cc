#include "lib/media/image_file.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/jpeg.h"
#include "lib/media/png.h"

namespace feedrate {
namespace {

struct Format {
  absl::string_view begin;
  const char* name;
};

// For the reason alone: formats that people keep among their photographs.
constexpr Format kOtherFormats[] = {
    {"GIF8", "GIF"},
    {"BM", "BMP"},
    {"II*", "TIFF"},
    {"MM", "TIFF"},
    {"RIFF", "WebP or another RIFF file"},
};

absl::Status NoImage(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty");
  for (const Format& format : kOtherFormats) {
    if (absl::StartsWith(bytes, format.begin)) {
      return absl::InvalidArgumentError(
          absl::StrCat(format.name, ", where JPEG and PNG are read"));
    }
  }
  return absl::InvalidArgumentError("neither JPEG nor PNG");
}

absl::Status CheckDecodable(const ImageInfo& info, bool jpeg) {
  if (info.channels < 3) {
    return absl::InvalidArgumentError("a grey image, without three channels");
  }
  if (jpeg && info.channels != 3) {
    return absl::InvalidArgumentError("a CMYK JPEG, not RGB");
  }
  if (int64_t{info.height} * info.width > kMostPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.width, " x ", info.height,
                     " pixels, more than the limit of ", kMostPixels));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageInfo> ReadImageHeader(absl::string_view bytes) {
  const bool jpeg = IsJpeg(bytes);
  if (!jpeg && !IsPng(bytes)) return NoImage(bytes);
  ASSIGN_OR_RETURN(const ImageInfo info,
                   jpeg ? ReadJpegHeader(bytes) : ReadPngHeader(bytes));
  RETURN_IF_ERROR(CheckDecodable(info, jpeg));
  return info;
}

absl::Status DecodeImageInto(absl::string_view bytes, int height, int width,
                             uint8_t* rgb) {
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, height, width, rgb);
  if (IsPng(bytes)) return DecodePng(bytes, height, width, rgb);
  return NoImage(bytes);
}

absl::StatusOr<Image> DecodeImage(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const ImageInfo info, ReadImageHeader(bytes));
  Image image(info.height, info.width, 3);
  RETURN_IF_ERROR(
      DecodeImageInto(bytes, info.height, info.width, image.data()));
  return image;
}

}  // namespace feedrate
