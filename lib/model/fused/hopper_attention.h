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

// Also gives Q and K as they were multiplied, normed and rotated, for the
// backward pass: rows x heads x 64 each, whose columns are in an order of its
// own.
void RunHopperAttention(const QkNormRope& a, int64_t queries, Bf16* mixed,
                        float* log_sum, Bf16* q, Bf16* k, cudaStream_t s);
// What the forward pass left.
struct HopperForward {
  const Bf16* mixed = nullptr;
  const float* log_sum = nullptr;
  const Bf16* q = nullptr;
  const Bf16* k = nullptr;
};
void RunHopperAttentionBackward(const QkNormRope& a, int64_t queries,
                                const HopperForward& forward,
                                const Bf16* dmixed, Bf16* dqkv,
                                float* dq_weight, float* dk_weight,
                                SumList* sums, bool accumulate, cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
