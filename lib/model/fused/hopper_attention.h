// Attention of images on Hopper's tensor cores: what RunShortAttention
// computes, to the same rounding.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

// Whether the current device is a Hopper.
bool HasHopperAttention();

void RunHopperAttention(const QkNormRope& a, int64_t queries, Bf16* mixed,
                        float* log_sum, cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
