// Causal attention of texts on Hopper's tensor cores: each token sees itself
// and those before it. Heads are 64 wide; there may be any number of tokens.
// Two runs give the same bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

// Rows of tokens, of which a block of the kernels takes so many at a time.
constexpr int64_t kCausalRows = 128;
// Tokens with those that fill up the last rows.
inline int64_t CausalTokens(int64_t tokens) {
  return (tokens + kCausalRows - 1) / kCausalRows * kCausalRows;
}

// Attention of a.qkv, whose Q and K are normed and rotated. `mixed`: batch x
// tokens x heads x 64. `log_sum`, base 2: batch x heads x CausalTokens(tokens).
void RunCausalAttention(const QkNormRope& a, Bf16* mixed, float* log_sum,
                        cudaStream_t s);

// What the forward pass left besides a.qkv. `rstd` is what RunQkNormRope wrote.
struct CausalForward {
  const Bf16* mixed = nullptr;
  const float* log_sum = nullptr;
  const float* rstd = nullptr;
};
// The gradients of what was normed and rotated, and of the norms' weights.
// `numbers`, twice the size of log_sum, is room for two numbers of each query.
void RunCausalAttentionBackward(const QkNormRope& a,
                                const CausalForward& forward,
                                const Bf16* dmixed, float* numbers, Bf16* dqkv,
                                float* dq_weight, float* dk_weight,
                                SumList* sums, bool accumulate, cudaStream_t s);

}  // namespace fused
}  // namespace feedrate
