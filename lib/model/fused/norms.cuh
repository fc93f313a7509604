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
template <int V, int kBranches, typename Write>
__device__ __forceinline__ void AddNormRow(const AddNorm& a, int64_t row,
                                           Write write) {
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  const int64_t from = row * a.stride * kWidth, to = row * kWidth;
  float4 x[V], y[2][V];
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = Load(a.x + from + Column(v, lane));
#pragma unroll
  for (int b = 0; b < kBranches; ++b) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      y[b][v] = Load(a.branches[b].y + to + Column(v, lane));
    }
  }
#pragma unroll
  for (int b = 0; b < kBranches; ++b) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[v] = x[v] + Load(a.branches[b].scale + Column(v, lane)) * y[b][v];
    }
  }
  float squares = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (a.x_out != nullptr) Store(a.x_out + to + Column(v, lane), x[v]);
    squares += Sum(x[v] * x[v]);
  }
  const float rstd = rsqrtf(WarpSum(squares) / kWidth + kEpsilon);
  if (lane == 0) a.rstd[row] = rstd;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    write(v, x[v] * rstd * NotZero(Load(a.weight + Column(v, lane))));
  }
}

// Where the parts of dweight go, and behind each those of dbias.
inline float* NormParts(const NormBackward& a, int blocks) {
  float* const parts = a.sums->Take(2 * a.width * blocks);
  a.sums->Add(parts, blocks, 2 * a.width, a.width, a.dweight, a.accumulate);
  if (a.dbias != nullptr) {
    a.sums->Add(parts + a.width, blocks, 2 * a.width, a.width, a.dbias,
                a.accumulate);
  }
  return parts;
}

// The backward pass of rows, and what it sums over them.
template <int V, bool kBranch>
struct NormBackwardRows {
  __device__ explicit NormBackwardRows(const NormBackward& a) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int c = Column(v, threadIdx.x % kWarp);
      weight[v] = NotZero(Load(a.weight + c));
      inverse[v] = Inverse(weight[v]);
      if (kBranch) scale[v] = NotZero(Load(a.scale + c));
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
    float4 dn[V], normed[V], dx[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      dn[v] = Load(a.dnormed + in + Column(v, lane));
      normed[v] = Load(a.normed + in + Column(v, lane));
      if (passes) {
        dx[v] = Load(a.dresidual + by + Column(v, lane));
      } else {
        dx[v] = make_float4(0, 0, 0, 0);
      }
    }
    // Weights and their inverses cancel.
    float dot = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float4 product = dn[v] * normed[v];
      dweight[v] = dweight[v] + product;
      dot += Sum(product);
    }
    dot = WarpSum(dot) / kWidth;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      dx[v] = dx[v] + (dn[v] * weight[v] - normed[v] * inverse[v] * dot) * rstd;
      Store(a.dx + in + Column(v, lane), dx[v]);
      if (kBranch) {
        const float4 dy = dx[v] * scale[v];
        write(v, dy);
        dbias[v] = dbias[v] + dy;
      }
    }
  }

  // The sums of the block, to its place in `parts`.
  __device__ void WriteSums(float* parts, float* shared) {
    constexpr int kWidth = V * kWarp * 4;
    float* const out = parts + static_cast<int64_t>(blockIdx.x) * 2 * kWidth;
#pragma unroll
    for (int v = 0; v < V; ++v) dweight[v] = dweight[v] * inverse[v];
    WriteBlockSums<V>(dweight, shared, out);
    if (kBranch) WriteBlockSums<V>(dbias, shared, out + kWidth);
  }

  float4 dweight[V] = {}, dbias[V] = {};
  float4 weight[V], inverse[V], scale[V];
};

}  // namespace fused
}  // namespace feedrate
