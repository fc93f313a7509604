// A row of the norms of the fused engine, forward and backward, by one warp;
// where the result goes is the caller's. For .cu files only.
#pragma once

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {

// Column c of lane `lane` in vector v: consecutive lanes read consecutive
// 16 bytes.
__device__ __forceinline__ int Column(int v, int lane) {
  return (v * kWarp + lane) * 4;
}

// Adds the column sums that each warp of a block holds and writes the block's.
template <int V>
__device__ void WriteBlockSums(float4 (&sums)[V], float* shared, float* out) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  constexpr int kWidth = V * kWarp * 4;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    Store(shared + warp * kWidth + Column(v, lane), sums[v]);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < kWidth; c += kThreads) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w * kWidth + c];
    out[c] = sum;
  }
  __syncthreads();
}

// Calls write(v, values) for the normed values.
template <int V, bool kAdd, typename Write>
__device__ __forceinline__ void AddNormRow(const AddNorm& a, int64_t row,
                                           Write write) {
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  const int64_t from = row * a.stride * kWidth;
  float4 x[V];
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = Load(a.x + from + Column(v, lane));
  if (kAdd) {
    float4 y[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      y[v] = Load(a.y + row * kWidth + Column(v, lane));
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[v] = x[v] + Load(a.scale + Column(v, lane)) * y[v];
      Store(a.x_out + row * kWidth + Column(v, lane), x[v]);
    }
  }
  float squares = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) squares += Sum(x[v] * x[v]);
  const float rstd = rsqrtf(WarpSum(squares) / kWidth + kEpsilon);
  if (lane == 0) a.rstd[row] = rstd;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    write(v, x[v] * rstd * Load(a.weight + Column(v, lane)));
  }
}

// The backward pass of rows, and what it sums over them.
template <int V, bool kBranch>
struct NormBackwardRows {
  __device__ explicit NormBackwardRows(const NormBackward& a) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      weight[v] = Load(a.weight + Column(v, threadIdx.x % kWarp));
      if (kBranch) scale[v] = Load(a.scale + Column(v, threadIdx.x % kWarp));
    }
  }

  // Calls write(v, values) for the gradient of the branch.
  template <typename Write>
  __device__ __forceinline__ void Row(const NormBackward& a, int64_t row,
                                      Write write) {
    constexpr int kWidth = V * kWarp * 4;
    const int lane = threadIdx.x % kWarp;
    const int64_t in = row * kWidth;
    // Where the gradient that passes by comes from.
    bool passes = a.dresidual != nullptr;
    int64_t by = in;
    if (a.stride > 1) {
      const int row32 = row, stride32 = a.stride;
      passes = passes && row32 % stride32 == 0;
      by = static_cast<int64_t>(row32 / stride32) * kWidth;
    }
    const float rstd = a.rstd[row];
    float4 dn[V], xhat[V], dx[V], y[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      dn[v] = Load(a.dnormed + in + Column(v, lane));
      xhat[v] = Load(a.x + in + Column(v, lane));
      if (passes) {
        dx[v] = Load(a.dresidual + by + Column(v, lane));
      } else {
        dx[v] = make_float4(0, 0, 0, 0);
      }
      if (kBranch) y[v] = Load(a.y + in + Column(v, lane));
    }
    float dot = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      xhat[v] = xhat[v] * rstd;
      dweight[v] = dweight[v] + dn[v] * xhat[v];
      dn[v] = dn[v] * weight[v];
      dot += Sum(dn[v] * xhat[v]);
    }
    dot = WarpSum(dot) / kWidth;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      dx[v] = dx[v] + (dn[v] - xhat[v] * dot) * rstd;
      Store(a.dx + in + Column(v, lane), dx[v]);
      if (kBranch) {
        const float4 dy = dx[v] * scale[v];
        write(v, dy);
        dscale[v] = dscale[v] + dx[v] * y[v];
        dbias[v] = dbias[v] + dy;
      }
    }
  }

  // The sums of the block, to its place in a.partial.
  __device__ void WriteSums(const NormBackward& a, float* shared) {
    constexpr int kWidth = V * kWarp * 4;
    float* const out =
        a.partial + static_cast<int64_t>(blockIdx.x) * 3 * kWidth;
    WriteBlockSums<V>(dweight, shared, out);
    if (kBranch) {
      WriteBlockSums<V>(dscale, shared, out + kWidth);
      WriteBlockSums<V>(dbias, shared, out + 2 * kWidth);
    }
  }

  float4 dweight[V] = {}, dscale[V] = {}, dbias[V] = {};
  float4 weight[V], scale[V];
};

}  // namespace fused
}  // namespace feedrate
