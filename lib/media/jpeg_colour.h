// Rows of samples to rows of RGB as libjpeg has it, bit for bit, in vectors:
// its smooth ("fancy") interpolation of colours, then YCbCr to RGB. For
// jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_COLOUR_H_
#define FEEDRATE_LIB_MEDIA_JPEG_COLOUR_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// Rows are read and written up to this many bytes past their end (`rgb` is
// not).
inline constexpr size_t kJpegRowMargin = 64;

// Two samples for one, across and down: `near` is the row of samples in which
// the wanted one lies, `far` the row on its other side. `sums` is room for
// count + 2 numbers and a margin. Samples at [-1] and [count] are read unless
// they are past the image's edge.
struct JpegEdges {
  bool left = false;
  bool right = false;
};

struct JpegRows {
  // Two samples for each of `count`, across. `far` is null for colours that
  // have as many rows as the image.
  void (*widen)(const uint8_t* near, const uint8_t* far, int count,
                JpegEdges edges, uint16_t* sums, uint8_t* out);
  // As many samples, between two rows. The lower of the two rows between is
  // rounded the other way.
  void (*blend)(const uint8_t* near, const uint8_t* far, int count,
                bool far_is_below, uint8_t* out);
  void (*to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr,
                 int width, uint8_t* rgb);
  void (*grey_to_rgb)(const uint8_t* y, int width, uint8_t* rgb);
};

// For the processor that this runs on.
JpegRows ChooseJpegRows();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_COLOUR_H_
