// Decode stage: decodes the part of an encoded item that a crop needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/source.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

struct DecodeWindow {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// Handles JPEG (decodes only the window), other images (decodes all) and numpy
// arrays (no decoding). Keeps its memory between items. Not thread-safe: use
// one per thread.
class ItemDecoder {
 public:
  // Returns size and channels of the item. `bytes` must stay valid until the
  // next call. Decoded images have three channels; arrays (bytes, HWC) have
  // their own number.
  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);

  // See JpegRegionDecoder. Items that are no JPEG have no entries.
  void UseEntries(absl::string_view packed, bool is_part = false) {
    if (kind_ == Kind::kJpeg) jpeg_.UseEntries(packed, is_part);
    if (!is_part) entries_ = packed;
  }
  // Threads for one large JPEG with entries; they must stay valid until Decode.
  void set_threads(int threads) { threads_ = threads; }
  std::string FindEntries() {
    return kind_ == Kind::kJpeg ? jpeg_.FindEntries() : "";
  }
  size_t codes_at() const {
    return kind_ == Kind::kJpeg ? jpeg_.codes_at() : 0;
  }

  // Pixels of a part of the item opened last, valid until the next Open. A
  // `shrink` of 2, 4 or 8 allows decoding a JPEG at that fraction of its size;
  // the view is then that much smaller, while the window is still in full-size
  // pixels. REQUIRES: the window lies within the item.
  absl::StatusOr<PixelView> Decode(const DecodeWindow& window, int shrink = 1);

  // Same, in full size, to the caller's memory, rows without gaps.
  absl::Status DecodeInto(const DecodeWindow& window, uint8_t* pixels);

 private:
  enum class Kind { kJpeg, kWhole, kArray };

  absl::StatusOr<ImageInfo> OpenArray(absl::string_view bytes);
  absl::StatusOr<PixelView> DecodeJpegWindow(const DecodeWindow& window,
                                             int shrink);
  // Returns at least `bytes` bytes of undefined content.
  uint8_t* Room(size_t bytes);

  Kind kind_ = Kind::kJpeg;
  absl::string_view bytes_;
  ImageInfo info_;
  JpegRegionDecoder jpeg_;
  JpegBandDecoder bands_;
  int threads_ = 1;
  absl::string_view entries_;
  std::vector<uint8_t> pixels_;
};

}  // namespace feedrate
