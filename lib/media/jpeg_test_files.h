// JPEG files of every kind, and what libjpeg-turbo makes of a whole one, for
// tests of decoders.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_
#define FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg_region_options.h"

namespace feedrate {

struct JpegTestFile {
  int width = 64;
  int height = 64;
  // Samples of the first component for one of the others, across and down.
  int horizontal = 2;
  int vertical = 2;
  int quality = 90;
  bool grey = false;
  bool stored_as_rgb = false;
  bool progressive = false;
  bool arithmetic = false;
  bool optimised = false;  // Huffman tables of its own.
  int restart_every = 0;   // MCUs; 0: no restart markers.
  uint32_t seed = 1;
  // Contrast of the noise, 0 to 255: with much, codes are long.
  int noise = 40;
};

// A gradient with edges and noise.
std::string MakeJpeg(const JpegTestFile& file);

// All of it, to RGB, by libjpeg-turbo in the ordinary way. Dies on damage.
Image DecodeWhole(absl::string_view bytes, const JpegRegionOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_
