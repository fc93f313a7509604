// A baseline JPEG with its headers read: what remains is one run of Huffman
// codes. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_BASELINE_PICTURE_H_
#define FEEDRATE_LIB_MEDIA_JPEG_BASELINE_PICTURE_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// As a file has it. `counts[n]` is the number of codes of n bits, n from 1 to
// 16; `symbols` are as many as those together, at most 256.
struct JpegHuffmanCodes {
  const uint8_t* counts = nullptr;
  const uint8_t* symbols = nullptr;
};

struct JpegBaselineComponent {
  // Samples across and down for each of the picture's smallest unit.
  int horizontal = 1;
  int vertical = 1;
  // 64 factors from left to right and from top to bottom, not in zigzag.
  const uint16_t* quantisation = nullptr;
  JpegHuffmanCodes dc;
  JpegHuffmanCodes ac;
};

// One grey component, or Y, Cb and Cr of which Y has one or two samples each
// way for one of the others.
struct JpegBaselinePicture {
  int width = 0;
  int height = 0;
  int components = 0;
  JpegBaselineComponent component[3];
  int restart_every = 0;  // In MCUs; 0: never.
  const uint8_t* codes = nullptr;
  size_t codes_bytes = 0;  // To the end of the file, whatever follows.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_BASELINE_PICTURE_H_
