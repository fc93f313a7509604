// Turns images of bytes into a training batch with one launch.
#pragma once

#include <cuda_runtime_api.h>

#include "lib/ops/cuda/kernels/batch.h"

namespace feedrate::fused {

// Enqueues the work on `stream`. cudaErrorNotSupported: colors, thirds, and
// mixes of resized windows need thread block clusters (compute capability 9.0).
// cudaErrorInvalidValue: the output is too large for the shared memory of eight
// multiprocessors, about 600 x 600 with thirds and mixes.
cudaError_t RunRecipe(const RecipeBatch& batch, cudaStream_t stream);

// The two implementations that RunRecipe chooses from: a crop or a resized
// window, with mixes for crops only; and everything else.
cudaError_t RunPlainRecipe(const RecipeBatch& batch, cudaStream_t stream);
cudaError_t RunStagedRecipe(const RecipeBatch& batch, cudaStream_t stream);

}  // namespace feedrate::fused
