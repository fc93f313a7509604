#include "lib/loader/sample/item_decoder.h"

#include <cstddef>
#include <cstring>

#include "lib/base/status_macros.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

// Pixels that take much longer than to start threads for them.
constexpr int64_t kLargeRegion = 1 << 20;

// The window of a fully decoded image.
PixelView Within(const uint8_t* pixels, const ImageInfo& info,
                 const DecodeWindow& window) {
  PixelView view;
  view.stride = static_cast<ptrdiff_t>(info.width) * info.channels;
  view.data = pixels + window.y * view.stride +
              static_cast<ptrdiff_t>(window.x) * info.channels;
  view.height = window.height;
  view.width = window.width;
  view.channels = info.channels;
  return view;
}

}  // namespace

uint8_t* ItemDecoder::Room(size_t bytes) {
  if (pixels_.size() < bytes) pixels_.resize(bytes);
  return pixels_.data();
}

absl::StatusOr<ImageInfo> ItemDecoder::Open(absl::string_view bytes) {
  bytes_ = bytes;
  entries_ = {};
  if (IsJpeg(bytes)) {
    kind_ = Kind::kJpeg;
    ASSIGN_OR_RETURN(info_, jpeg_.Open(bytes));
  } else if (IsNpy(bytes)) {
    kind_ = Kind::kArray;
    ASSIGN_OR_RETURN(info_, OpenArray(bytes));
  } else {
    kind_ = Kind::kWhole;
    const absl::StatusOr<ImageInfo> info = ReadImageHeader(bytes);
    if (!info.ok()) {
      return absl::InvalidArgumentError(info.status().message());
    }
    info_ = *info;
  }
  if (kind_ != Kind::kArray) info_.channels = 3;
  return info_;
}

absl::StatusOr<ImageInfo> ItemDecoder::OpenArray(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const NpyView array, ViewNpy(bytes));
  if (array.dtype != "uint8" || array.shape.size() != 3 || array.data.empty()) {
    return absl::InvalidArgumentError(
        "an item that is an array must be of uint8 with the shape (height, "
        "width, channels)");
  }
  bytes_ = array.data;
  ImageInfo info;
  info.height = array.shape[0];
  info.width = array.shape[1];
  info.channels = array.shape[2];
  return info;
}

absl::StatusOr<PixelView> ItemDecoder::DecodeJpegWindow(
    const DecodeWindow& window, int shrink) {
  JpegRegionOptions options;
  options.scale = shrink;
  JpegRegion region;
  region.x = window.x / shrink;
  region.y = window.y / shrink;
  region.width = ScaledSize(window.x + window.width, shrink) - region.x;
  region.height = ScaledSize(window.y + window.height, shrink) - region.y;
  PixelView view;
  view.height = region.height;
  view.width = region.width;
  view.channels = 3;
  view.stride = static_cast<ptrdiff_t>(region.width) * 3;
  uint8_t* const pixels = Room(view.stride * view.height);
  if (threads_ > 1 && !entries_.empty() && shrink == 1 &&
      int64_t{region.width} * region.height >= kLargeRegion) {
    RETURN_IF_ERROR(
        bands_.Decode(bytes_, entries_, region, threads_, pixels, view.stride));
    view.data = pixels;
    return view;
  }
  RETURN_IF_ERROR(jpeg_.Decode(region, options, pixels, view.stride));
  view.data = pixels;
  return view;
}

absl::StatusOr<PixelView> ItemDecoder::Decode(const DecodeWindow& window,
                                              int shrink) {
  switch (kind_) {
    case Kind::kJpeg:
      return DecodeJpegWindow(window, shrink);
    case Kind::kArray:
      return Within(reinterpret_cast<const uint8_t*>(bytes_.data()), info_,
                    window);
    case Kind::kWhole: {
      const size_t size = static_cast<size_t>(info_.height) * info_.width * 3;
      uint8_t* const pixels = Room(size);
      RETURN_IF_ERROR(
          DecodeImageInto(bytes_, info_.height, info_.width, pixels));
      return Within(pixels, info_, window);
    }
  }
  return absl::InternalError("an item of no kind");
}

absl::Status ItemDecoder::DecodeInto(const DecodeWindow& window,
                                     uint8_t* pixels) {
  if (kind_ == Kind::kJpeg) {
    return jpeg_.Decode({window.x, window.y, window.width, window.height},
                        JpegRegionOptions(), pixels,
                        static_cast<size_t>(window.width) * 3);
  }
  ASSIGN_OR_RETURN(const PixelView view, Decode(window));
  const ptrdiff_t row = static_cast<ptrdiff_t>(view.width) * view.channels;
  for (int y = 0; y < view.height; ++y) {
    std::memcpy(pixels + y * row, view.data + y * view.stride, row);
  }
  return absl::OkStatus();
}

}  // namespace feedrate
