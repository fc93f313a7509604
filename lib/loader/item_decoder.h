// Decode stage: the part of an encoded item that a crop needs.
#ifndef FEEDRATE_LIB_LOADER_ITEM_DECODER_H_
#define FEEDRATE_LIB_LOADER_ITEM_DECODER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/pixels.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

struct DecodeWindow {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// JPEG (the window alone is decoded), PNG (whole), arrays of numpy (nothing
// is). Keeps its memory between items. Not thread-safe: one for each thread.
class ItemDecoder {
 public:
  // Size and channels of the item, of which `bytes` are used until the next
  // call. Decoded, an image has three channels; an array of bytes, HWC, has
  // what it has.
  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);

  // Pixels of a part of the item opened last, until the next Open. `shrink` (1,
  // 2, 4 or 8) may be used to decode a JPEG at a fraction of its size; the view
  // then is that much smaller, and the window is still in full pixels.
  // REQUIRES: the window lies within the item.
  absl::StatusOr<PixelView> Decode(const DecodeWindow& window, int shrink = 1);

  // The same in full size to the caller's memory, rows without gaps.
  absl::Status DecodeInto(const DecodeWindow& window, uint8_t* pixels);

 private:
  enum class Kind { kJpeg, kPng, kArray };

  absl::StatusOr<ImageInfo> OpenArray(absl::string_view bytes);
  absl::StatusOr<PixelView> DecodeJpegWindow(const DecodeWindow& window,
                                             int shrink);
  // Memory of at least `bytes` bytes, whatever is in it.
  uint8_t* Room(size_t bytes);

  Kind kind_ = Kind::kJpeg;
  absl::string_view bytes_;
  ImageInfo info_;
  JpegRegionDecoder jpeg_;
  std::vector<uint8_t> pixels_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_ITEM_DECODER_H_
