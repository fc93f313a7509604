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

// Four numbers of a residual stream.
__device__ __forceinline__ float4 Values(uint2 raw, float unit) {
  // The last bits of 2^23 and more are a whole number.
  const auto value = [unit](uint32_t words, int bytes) {
    const uint32_t bits = __byte_perm(words, 0x4b00, bytes);
    return (__uint_as_float(bits) - (8388608.f + 32768.f)) * unit;
  };
  return make_float4(value(raw.x, 0x5410), value(raw.x, 0x5432),
                     value(raw.y, 0x5410), value(raw.y, 0x5432));
}

__device__ __forceinline__ float4 Load(const uint16_t* p, float unit) {
  return Values(LoadRaw(p), unit);
}

// Writes a row of a warp. The values become those that are written.
template <int V>
__device__ __forceinline__ void StoreRow(const Residual& out, int64_t row,
                                         float4 (&x)[V]) {
  const int lane = threadIdx.x % kWarp;
  // As whole numbers, what is not a number is the largest.
  unsigned largest = 0;
  const auto look = [&](float v) {
    largest = max(largest, __float_as_uint(fabsf(v)));
  };
#pragma unroll
  for (int v = 0; v < V; ++v) {
    look(x[v].x);
    look(x[v].y);
    look(x[v].z);
    look(x[v].w);
  }
#pragma unroll
  for (int o = kWarp / 2; o > 0; o >>= 1) {
    largest = max(largest, __shfl_xor_sync(~0u, largest, o));
  }
  float unit = __uint_as_float(largest) * (1.f / 32767);
  if (unit < 1e-30f) unit = 0;
  const float inverse = unit == 0 ? 0 : 1 / unit;
  if (lane == 0) out.units[row] = unit;
  const auto number = [&](float v) {
    return __float_as_uint(fmaf(v, inverse, 8388608.f + 32768.f));
  };
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const uint2 raw =
        make_uint2(__byte_perm(number(x[v].x), number(x[v].y), 0x5410),
                   __byte_perm(number(x[v].z), number(x[v].w), 0x5410));
    *reinterpret_cast<uint2*>(out.values + row * V * kWarp * 4 +
                              Column(v, lane)) = raw;
    x[v] = Values(raw, unit);
  }
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
  const float unit = a.x.units[row * a.stride];
  float4 x[V], y[2][V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    x[v] = Load(a.x.values + from + Column(v, lane), unit);
  }
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
  // The same as when the row is read again.
  if (a.x_out.values != nullptr) StoreRow(a.x_out, row, x);
  float squares = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) squares += Sum(x[v] * x[v]);
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
  // By all threads of the block.
  __device__ explicit NormBackwardRows(const NormBackward& a) {
    // In registers they would leave room for one block per processor.
    __shared__ Factors shared;
    factors = &shared;
    for (int c = threadIdx.x; c < V * kWarp; c += blockDim.x) {
      shared.weight[c] = NotZero(Load(a.weight + 4 * c));
      shared.inverse[c] = Inverse(shared.weight[c]);
      if (kBranch) shared.scale[c] = NotZero(Load(a.scale + 4 * c));
    }
    __syncthreads();
  }

  // Calls write(v, values) for the gradient of the branch.
  template <typename Write>
  __device__ __forceinline__ void Row(const NormBackward& a, int64_t row,
                                      Write write) {
    constexpr int kWidth = V * kWarp * 4;
    const int lane = threadIdx.x % kWarp;
    const int64_t in = row * kWidth;
    // Where the gradient that passes by comes from.
    bool passes = a.dresidual.values != nullptr;
    int64_t by = row;
    if (a.stride > 1) {
      const int row32 = row, stride32 = a.stride;
      passes = passes && row32 % stride32 == 0;
      by = row32 / stride32;
    }
    const float rstd = a.rstd[row];
    const float unit = passes ? a.dresidual.units[by] : 0;
    uint2 raw_dn[V], raw_normed[V], raw_dx[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      raw_dn[v] = LoadRaw(a.dnormed + in + Column(v, lane));
      raw_normed[v] = LoadRaw(a.normed + in + Column(v, lane));
      raw_dx[v] = make_uint2(0, 0);
      if (passes) {
        raw_dx[v] = LoadRaw(a.dresidual.values + by * kWidth + Column(v, lane));
      }
    }
    // Weights and their inverses cancel.
    float dot = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float4 product = Values(raw_dn[v]) * Values(raw_normed[v]);
      dweight[v] = dweight[v] + product;
      dot += Sum(product);
    }
    dot = WarpSum(dot) / kWidth;
    float4 dx[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int c = v * kWarp + lane;
      dx[v] = Values(raw_dx[v], unit) +
              (Values(raw_dn[v]) * factors->weight[c] -
               Values(raw_normed[v]) * factors->inverse[c] * dot) *
                  rstd;
      const float4 dy = kBranch ? dx[v] * factors->scale[c] : dx[v];
      if (kBranch || a.dy != nullptr) write(v, dy);
      if (kBranch) dbias[v] = dbias[v] + dy;
    }
    if (a.dx.values != nullptr) StoreRow(a.dx, row, dx);
  }

  // The sums of the block, to its place in `parts`.
  __device__ void WriteSums(float* parts, float* shared) {
    constexpr int kWidth = V * kWarp * 4;
    float* const out = parts + static_cast<int64_t>(blockIdx.x) * 2 * kWidth;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      dweight[v] =
          dweight[v] * factors->inverse[v * kWarp + threadIdx.x % kWarp];
    }
    WriteBlockSums<V>(dweight, shared, out);
    if (kBranch) WriteBlockSums<V>(dbias, shared, out + kWidth);
  }

  struct Factors {
    float4 weight[V * kWarp], inverse[V * kWarp], scale[V * kWarp];
  };
  const Factors* factors;
  float4 dweight[V] = {}, dbias[V] = {};
};

}  // namespace fused
}  // namespace feedrate
