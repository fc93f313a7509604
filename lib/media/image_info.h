// What is known of an encoded image before it is decoded.
#ifndef FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_
#define FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_

#include <cstdint>

namespace feedrate {

// Larger images are refused: 800 MB decoded is no photograph, but a file of a
// few bytes may claim it.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

struct ImageInfo {
  int height = 0;
  int width = 0;
  // Channels as stored: 1 grey, 2 grey with transparency, 3 colour, 4 colour
  // with transparency or, in a JPEG, CMYK.
  int channels = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_
