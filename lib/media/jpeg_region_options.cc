#include "lib/media/jpeg_region_options.h"

#include "absl/strings/str_cat.h"

namespace feedrate {

absl::Status CheckJpegInfo(const ImageInfo& info) {
  if (info.channels != 1 && info.channels != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: of ", info.channels,
                     " channels; only grey and colour are decoded"));
  }
  if (int64_t{info.height} * info.width > kMostPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: ", info.width, "x", info.height,
                     " is larger than any photograph"));
  }
  return absl::OkStatus();
}

absl::Status CheckJpegRegion(const JpegRegion& region,
                             const JpegRegionOptions& options,
                             const ImageInfo& info) {
  const int scale = options.scale;
  if (scale != 1 && scale != 2 && scale != 4 && scale != 8) {
    return absl::InvalidArgumentError(absl::StrCat(
        "JPEG: cannot decode at 1/", scale, ", only at 1, 1/2, 1/4 and 1/8"));
  }
  const int width = ScaledSize(info.width, scale);
  const int height = ScaledSize(info.height, scale);
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
      region.width > width - region.x || region.height > height - region.y) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: the region of ", region.width, "x", region.height,
                     " at ", region.x, ",", region.y,
                     " is not within the image of ", width, "x", height));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
