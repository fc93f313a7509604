// Kernels for batches in device memory: one launch each, parameters for each
// image in a device buffer. They return what the launch said; the work is
// enqueued on `stream`.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_H_

#include <cuda_runtime_api.h>

#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/colour_math.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/adapters/cuda/tone_math.h"
#include "lib/adapters/cuda/warp_math.h"

namespace feedrate::fused {

// All pointers are to device memory. An output image has the size that is asked
// for: that of the input unless said otherwise. Stores are wide where outputs
// and their strides are multiples of 4. In and out never overlap.

// Brightness, contrast, saturation and hue. Needs compute capability 9.0.
// Planes REQUIRE: 4 divides height * width.
cudaError_t JitterBytes(const ByteImage* in, const Jitter* jitters, int count,
                        const ByteImage* out, cudaStream_t stream);
cudaError_t JitterPlanes(const Planes& in, const Jitter* jitters, float* out,
                         cudaStream_t stream);

// Crops, flips, turns, shears, perspective, and resizing without antialias, by
// bilinear interpolation; beyond the border lie zeros or the border, kReflect
// is refused. Outputs of bytes may have any size up to max_height x max_width.
cudaError_t WarpBytes(const ByteImage* in, const Projection* projections,
                      int count, Edge edge, const ByteImage* out,
                      int max_height, int max_width, cudaStream_t stream);

// How threads reach the pixels of planes. The results are the same, but for
// kFiltered: there the texture units weigh, in steps of 1/256 of a pixel.
// kQuads and kFiltered need the textures of `in`.
enum class WarpPath {
  kTile,
  kGather8,
  kGather16,
  kGather32,
  kQuads,
  kFiltered
};

// Planes as texture units see them. Made once for a buffer, whatever comes to
// lie in it.
struct WarpTextures {
  static constexpr int kMost = 16;
  cudaTextureObject_t objects[kMost] = {};
  int count = 0;
  // Images in each but the last.
  int images_each = 1;
};
// cudaErrorNotSupported: rows of `in` are no multiple of what textures need (32
// bytes), or there are too many images.
cudaError_t MakeWarpTextures(const Planes& in, WarpTextures* textures);
void FreeWarpTextures(WarpTextures* textures);

cudaError_t WarpPlanes(const Planes& in, const Projection* projections,
                       Edge edge, WarpPath path, float* out,
                       cudaStream_t stream,
                       const WarpTextures* textures = nullptr);

// How threads share out a blur of bytes. The results are the same to the bit.
enum class BlurPath {
  kStrips,  // A thread walks down a strip and keeps all that it needs.
  kTiles,   // A block makes a tile, and smooths across before it does down.
};

// Gaussian blur of 2 * radius + 1 pixels, the border reflected. `sigmas` has
// one for each image. REQUIRES: 1 <= radius <= kMaxBlurRadius, and sides larger
// than the radius; of planes, 4 divides the width.
cudaError_t BlurBytes(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream,
                      BlurPath path = BlurPath::kTiles);
cudaError_t BlurPlanes(const Planes& in, const float* sigmas, int radius,
                       float* out, cudaStream_t stream);

// Stretched to to_height x to_width, without antialias. REQUIRES: 4 divides
// to_width.
cudaError_t ResizePlanes(const Planes& in, int to_height, int to_width,
                         float* out, cudaStream_t stream);

// Each value by itself, with an amount for each image.
cudaError_t ToneBytes(const ByteImage* in, Tone tone, const float* amounts,
                      int count, const ByteImage* out, cudaStream_t stream);

// Each channel's histogram made flat, as Pillow does it.
cudaError_t EqualizeBytes(const ByteImage* in, int count, const ByteImage* out,
                          cudaStream_t stream);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_H_
