// How batches lie in the memory of a device.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BATCH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BATCH_H_

#include <cstdint>

namespace feedrate::fused {

// One image of bytes, RGB side by side. A batch of different sizes is an array
// of these in device memory. Kernels read whole aligned words, so the memory of
// `data` is readable from the multiple of 16 at or below its first byte to the
// one at or above its last; what cudaMalloc gives in multiples of 16 is.
struct ByteImage {
  uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  // Bytes from one row to the next.
  int64_t stride = 0;
};

// Images of one size, channel after channel without gaps, values 0..1. Starts
// at a multiple of 16 bytes.
struct Planes {
  float* data = nullptr;
  int count = 0;
  int height = 0;
  int width = 0;
};

// A part of an image. What of it lies outside reads as zeros, or as the border,
// as the operation says.
struct Window {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BATCH_H_
