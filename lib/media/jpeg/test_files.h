// For tests of decoders: JPEG files of every kind, and their pixels by
// libjpeg-turbo.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_
#define FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

struct JpegTestFile {
  int width = 64;
  int height = 64;
  // Samples of the first component per sample of the others, across and down.
  int horizontal = 2;
  int vertical = 2;
  int quality = 90;
  bool grey = false;
  bool stored_as_rgb = false;
  bool progressive = false;
  bool arithmetic = false;
  bool optimised = false;  // Huffman tables of its own.
  int restart_every = 0;   // MCUs; 0 means no restart markers.
  uint32_t seed = 1;
  // Contrast of the noise, 0 to 255. High values give long codes.
  int noise = 40;
};

// A gradient with edges and noise.
std::string MakeJpeg(const JpegTestFile& file);

// Decodes the whole image to RGB by libjpeg-turbo. Dies on damage.
Image DecodeWhole(absl::string_view bytes, const JpegRegionOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_TEST_FILES_H_
