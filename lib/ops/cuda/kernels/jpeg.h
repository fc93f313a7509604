// Baseline JPEGs on the device: Huffman codes from places that are known, one
// thread each, then the transform and the colors, equal to libjpeg-turbo's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace feedrate::fused {

// Codes of up to kWidth bits by one lookup: bits << 8 | symbol, or 0.
struct JpegTable {
  static constexpr int kWidth = 10;
  uint16_t look[1 << kWidth];
  // For each length: the first 16 bits that are past its codes, and the index
  // of its first symbol less its first code.
  uint32_t past[17];
  int32_t first[17];
  uint8_t symbols[256];
};

// Whole rows of MCUs of a picture, and where everything of it is.
struct JpegRows {
  int width = 0;   // Of the picture.
  int height = 0;  // Rows of pixels.
  int components = 0;
  int horizontal = 1;  // Samples of the first component per one of the others.
  int vertical = 1;
  int mcus_across = 0;
  int mcus = 0;
  int tables[3][2] = {};  // For first and for other coefficients.
  uint16_t factors[3][64] = {};
  int64_t first_block = 0;
  int64_t planes[3] = {};
  int strides[3] = {};
  uint8_t* rgb = nullptr;  // Rows without gaps.
};

// Codes that one thread reads.
struct JpegStart {
  uint32_t byte = 0;  // Of all codes, which have less than 4 GiB.
  uint32_t end = 0;
  int picture = 0;
  int first_mcu = 0;  // Below 0 for those before the rows, which are skipped.
  int mcus = 0;       // 0: only where the start before must come to.
  int16_t last_dc[3] = {};
  int16_t bit = 0;
};

// All in device memory. `coefficients` has 64 numbers per block.
struct JpegWork {
  const uint8_t* codes = nullptr;
  const JpegTable* tables = nullptr;
  const JpegRows* pictures = nullptr;
  const JpegStart* starts = nullptr;
  int16_t* coefficients = nullptr;
  uint8_t* planes = nullptr;
  // Per picture: not 0 if codes are invalid, or a start does not come to the
  // next one of the picture.
  uint8_t* wrong = nullptr;
  int count = 0;  // Of pictures.
  int num_starts = 0;
  int64_t blocks = 0;
  // The most that a picture has.
  int most_blocks = 0;
  int most_width = 0;
  int most_height = 0;
};

// Enqueues it all. Pictures that are wrong have any pixels.
cudaError_t DecodeJpegRows(const JpegWork& work, cudaStream_t stream);

}  // namespace feedrate::fused
