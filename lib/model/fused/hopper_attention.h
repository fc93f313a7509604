// Attention of images on Hopper's tensor cores, and its backward pass: what
// RunShortAttention and RunShortAttentionBackward compute, to the same
// rounding.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

// Whether the current device is a Hopper.
bool HasHopperAttention();

// Leaves Q and K in `qkv`, which is a.qkv, as they were multiplied for the
// backward pass: normed and rotated, with columns in an order of its own.
// Weights of zero count as 1e-20. `rstd`, batch x heads x 2 x kShortTokens: one
// over the root mean square of each row of Q, then of K; what no query needs is
// not written.
void RunHopperAttention(const QkNormRope& a, int64_t queries, Bf16* qkv,
                        Bf16* mixed, float* log_sum, float* rstd,
                        cudaStream_t s);
// What the forward pass left besides a.qkv. All of `rstd` must be finite.
struct HopperForward {
  const Bf16* mixed = nullptr;
  const float* log_sum = nullptr;
  const float* rstd = nullptr;
};
void RunHopperAttentionBackward(const QkNormRope& a, int64_t queries,
                                const HopperForward& forward,
                                const Bf16* dmixed, Bf16* dqkv,
                                float* dq_weight, float* dk_weight,
                                SumList* sums, bool accumulate, cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
