// Decoded pixels that lie somewhere else.
#ifndef FEEDRATE_LIB_LOADER_PIXELS_H_
#define FEEDRATE_LIB_LOADER_PIXELS_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// 8-bit HWC, rows `stride` bytes apart; a negative stride is an image that
// stands on its head, with `data` at the row shown first.
struct PixelView {
  const uint8_t* data = nullptr;
  ptrdiff_t stride = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_PIXELS_H_
