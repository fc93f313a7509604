// Converts NV12 frames, as NVDEC returns them (luma, and interleaved chroma of
// half the size), to RGB in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "lib/media/video/yuv.h"

namespace feedrate {

// Enqueues the conversion to rows without gaps: height x width x 3 bytes.
cudaError_t Nv12ToRgb(const Nv12Frame& frame, uint8_t* rgb,
                      cudaStream_t stream);

}  // namespace feedrate
