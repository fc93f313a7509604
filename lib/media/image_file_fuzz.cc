// For any bytes, decoding ends, stays within its memory, and gives an image of
// the size in the header, or a reason. An array of numpy has the bytes that its
// shape says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"

namespace {

void ReadArray(absl::string_view bytes) {
  const absl::StatusOr<feedrate::NpyView> array = feedrate::ViewNpy(bytes);
  if (!array.ok()) {
    if (array.status().message().empty()) std::abort();
    return;
  }
  size_t size = array->dtype == "uint8" ? 1 : 4;
  for (const int64_t length : array->shape) size *= length;
  if (array->data.size() != size || size > bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::ImageInfo;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadArray(bytes);
  const absl::StatusOr<ImageInfo> info = feedrate::ReadImageHeader(bytes);
  if (!info.ok()) {
    if (info.status().message().empty()) std::abort();
    return 0;
  }
  // Large images are slow and add nothing.
  if (int64_t{info->height} * info->width > 1 << 16) return 0;
  const absl::StatusOr<feedrate::Image> image = feedrate::DecodeImage(bytes);
  if (!image.ok()) {
    if (image.status().message().empty()) std::abort();
    return 0;
  }
  if (image->height() != info->height || image->width() != info->width) {
    std::abort();
  }
  return 0;
}
