// For tests of decoders: JPEG files of every kind, and their pixels by
// libjpeg-turbo.
#pragma once

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
  bool gray = false;
  bool stored_as_rgb = false;
  bool cmyk = false;
  bool ycck =
      false;  // CMYK, stored as brightness, color differences and black.
  bool progressive = false;
  // How many scans a progressive file keeps, from the first; 0 means all. The
  // last ones refine what the first have sent.
  int scans = 0;
  bool arithmetic = false;
  bool optimized = false;  // Huffman tables of its own.
  int restart_every = 0;   // MCUs; 0 means no restart markers.
  uint32_t seed = 1;
  // Contrast of the noise, 0 to 255. High values give long codes.
  int noise = 40;
};

// A gradient with edges and noise.
std::string MakeJpeg(const JpegTestFile& file);

// Decodes the whole image to RGB by libjpeg-turbo. Dies on damage.
Image DecodeWhole(absl::string_view bytes, const JpegRegionOptions& options);

// A file, the same with one place damaged, and a part of it, all drawn from
// bytes: those of a fuzzer, or random ones. Damage is what breaks the structure
// of a file: codes, restart markers and scans that are changed, moved, missing
// or there twice.
struct DamagedJpeg {
  std::string whole;
  std::string damaged;
  JpegRegion region;
};
DamagedJpeg DrawDamagedJpeg(absl::string_view draws);

// How decoding a part of a damaged file ended.
enum class DamageResult {
  kSame,      // The same pixels as by libjpeg-turbo.
  kRefused,   // As by libjpeg-turbo.
  kUnharmed,  // libjpeg-turbo refuses; the pixels are those of `whole`.
  // The rest are bugs.
  kOtherPixels,
  kOnlyWeRefuse,
};
DamageResult DecodeDamaged(const DamagedJpeg& jpeg);

}  // namespace feedrate
