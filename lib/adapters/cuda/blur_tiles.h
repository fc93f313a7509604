// The blur of bytes by tiles, for blur.cu.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILES_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILES_H_

#include <cuda_runtime_api.h>

#include "lib/adapters/cuda/batch.h"

namespace feedrate::fused {

// As BlurBytes. REQUIRES: count > 0.
cudaError_t BlurTiles(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILES_H_
