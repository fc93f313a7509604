// Parts of baseline JPEGs, faster than libjpeg-turbo and byte for byte the
// same: codes of blocks that are not needed are passed over several at a look,
// and only blocks that are needed are transformed. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_BASELINE_H_
#define FEEDRATE_LIB_MEDIA_JPEG_BASELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/media/jpeg_baseline_picture.h"
#include "lib/media/jpeg_codes.h"
#include "lib/media/jpeg_colour.h"
#include "lib/media/jpeg_entropy.h"
#include "lib/media/jpeg_huffman.h"
#include "lib/media/jpeg_idct.h"
#include "lib/media/jpeg_region_options.h"

namespace feedrate {

// Keeps its memory and its tables between pictures. Not thread-safe.
class JpegBaselineRegion {
 public:
  JpegBaselineRegion();

  // Rows of `region.width` x 3 bytes, `stride_bytes` apart, in full size, with
  // the accurate transform and smooth colours. False when something is odd, be
  // it the file's fault or ours: libjpeg-turbo then has the last word.
  // REQUIRES: the region lies within the picture.
  bool Decode(const JpegBaselinePicture& picture, const JpegRegion& region,
              uint8_t* rgb, size_t stride_bytes);

 private:
  // The samples of one component that are needed, in whole blocks.
  struct Plane {
    int horizontal = 1;  // Blocks of an MCU.
    int vertical = 1;
    int across = 1;  // Pixels for one sample.
    int down = 1;
    int width = 0;  // Samples of the whole picture.
    int height = 0;
    int first_x = 0, end_x = 0;  // Blocks.
    int first_y = 0, end_y = 0;
    size_t stride = 0;
    std::vector<uint8_t> samples;
    alignas(16) uint16_t factors[64];
    JpegHuffmanTable dc_table, ac_table;
    JpegBlockCodes codes;

    // A sample by its place in the whole picture.
    uint8_t* at(int x, int y) {
      return &samples[kJpegRowMargin + (y - 8 * first_y) * stride] +
             (x - 8 * first_x);
    }
  };

  bool Prepare(const JpegBaselinePicture& picture, const JpegRegion& region);
  void PlacePlane(const JpegBaselinePicture& picture, const JpegRegion& region,
                  Plane* plane);
  bool DecodeBlocks();
  // Move on by MCUs, and across restart markers.
  bool Skip(int64_t mcus);
  bool Read(int mcu_x, int mcu_y);
  bool ReadBlock(Plane* plane, int block_x, int block_y);
  bool BeginMcu();
  void StartPart(int part);
  void WriteRows(const JpegRegion& region, uint8_t* rgb, size_t stride_bytes);
  const uint8_t* ColourRow(const JpegRegion& region, int y, Plane* plane,
                           uint8_t* room);

  const JpegIdct idct_;
  const JpegRows rows_;
  int components_ = 0;
  Plane planes_[3];
  int mcus_across_ = 0;
  int first_mcu_x_ = 0, end_mcu_x_ = 0;
  int first_mcu_y_ = 0, end_mcu_y_ = 0;
  int restart_every_ = 0;

  JpegCodeBytes bytes_;
  JpegBitReader reader_;
  int64_t mcu_ = 0;  // The next one.
  int part_ = 0;

  std::vector<uint16_t> sums_;
  std::vector<uint8_t> colour_rows_[2];
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_BASELINE_H_
