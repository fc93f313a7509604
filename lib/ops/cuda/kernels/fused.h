// Kernels for batches in device memory: one launch each, with parameters for
// each image in a device buffer. They enqueue work on `stream` and return the
// result of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/color_math.h"
#include "lib/ops/cuda/kernels/recipe.h"
#include "lib/ops/cuda/kernels/warp_math.h"

namespace feedrate::fused {

// All pointers are to device memory. Outputs have the size of the input unless
// stated otherwise. Stores are wide if outputs and their strides are multiples
// of 4. Inputs and outputs never overlap.

// Brightness, contrast, saturation and hue. `has_contrast`: HasContrast holds
// for any of the jitters; needs compute capability 9.0.
// Planes REQUIRE: 4 divides height * width.
cudaError_t JitterBytes(const ByteImage* in, const Jitter* jitters, int count,
                        bool has_contrast, const ByteImage* out,
                        cudaStream_t stream);
cudaError_t JitterPlanes(const Planes& in, const Jitter* jitters,
                         bool has_contrast, float* out, cudaStream_t stream);

// Crops, flips, rotation, shear, perspective, and resizing without
// antialiasing, by bilinear interpolation. Beyond the border it reads zeros or
// the border; kReflect is rejected. Byte outputs may have any size up to
// max_height x max_width.
cudaError_t WarpBytes(const ByteImage* in, const Projection* projections,
                      int count, Edge edge, const ByteImage* out,
                      int max_height, int max_width, cudaStream_t stream);

// Texture objects for planes. Made once per buffer, independent of its content.
struct WarpTextures {
  static constexpr int kMost = 16;
  cudaTextureObject_t objects[kMost] = {};
  int count = 0;
  // Images per texture, except the last.
  int images_each = 1;
};
// cudaErrorNotSupported: rows of `in` are not a multiple of the texture pitch
// (32 bytes), or there are too many images.
cudaError_t MakeWarpTextures(const Planes& in, WarpTextures* textures);
void FreeWarpTextures(WarpTextures* textures);

// How texture units are used.
enum class WarpPath {
  kQuads,     // Fetch the four pixels around a position.
  kFiltered,  // Also interpolate, in steps of 1/256 of a pixel.
};

// Like WarpBytes, for planes. `textures` are those of `in`.
cudaError_t WarpPlanes(const Planes& in, const Projection* projections,
                       const WarpTextures& textures, Edge edge, WarpPath path,
                       float* out, cudaStream_t stream);

// Gaussian blur of 2 * radius + 1 pixels, with the border reflected. `sigmas`
// has one value per image. REQUIRES: 1 <= radius <= kMaxBlurRadius, and sides
// larger than the radius; for planes, 4 divides the width.
cudaError_t BlurBytes(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream);
cudaError_t BlurPlanes(const Planes& in, const float* sigmas, int radius,
                       float* out, cudaStream_t stream);

// Resizes to to_height x to_width, without antialiasing. REQUIRES: 4 divides
// to_width.
cudaError_t ResizePlanes(const Planes& in, int to_height, int to_width,
                         float* out, cudaStream_t stream);

// Changes each value by itself, with one amount per image.
cudaError_t ToneBytes(const ByteImage* in, Tone tone, const float* amounts,
                      int count, const ByteImage* out, cudaStream_t stream);

// Equalizes the histogram of each channel, like Pillow.
cudaError_t EqualizeBytes(const ByteImage* in, int count, const ByteImage* out,
                          cudaStream_t stream);

}  // namespace feedrate::fused
