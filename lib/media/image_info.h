// What is known of an encoded image before it is decoded.
#ifndef FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_
#define FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_

namespace feedrate {

struct ImageInfo {
  int height = 0;
  int width = 0;
  // Channels as stored: 1 grey, 2 grey with transparency, 3 colour, 4 colour
  // with transparency or, in a JPEG, CMYK.
  int channels = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_IMAGE_INFO_H_
