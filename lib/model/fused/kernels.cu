#include <algorithm>
#include <type_traits>

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/norms.cuh"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace {

// Blocks of kernels with partial sums. 132 processors with four blocks each.
constexpr int kBlocks = 528;

__global__ void PatchifyKernel(const float* __restrict__ images,
                               Bf16* __restrict__ patches, int64_t fours,
                               int channels, int side, int patch) {
  const int per_side = side / patch;
  const int values = channels * patch * patch;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
       i < fours; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    // Divisions of 64 bits would take longer than the memory.
    const unsigned four = i, fours_of_row = values / 4;
    const unsigned row = four / fours_of_row;
    const int value = four % fours_of_row * 4;
    const int px = value % patch;
    const int py = (value / patch) % patch;
    const int c = value / (patch * patch);
    const int gx = row % per_side;
    const int gy = (row / per_side) % per_side;
    const int64_t b = row / (per_side * per_side);
    const int64_t from =
        ((b * channels + c) * side + gy * patch + py) * side + gx * patch + px;
    Store(patches + i * 4, Load(images + from));
  }
}

// One row per warp.
template <int V>
__global__ void __launch_bounds__(kThreads)
    AssembleKernel(const Bf16* __restrict__ patches,
                   const float* __restrict__ class_token,
                   const float* __restrict__ registers, Residual x,
                   int64_t rows, int tokens, int first) {
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  const int64_t row =
      blockIdx.x * static_cast<int64_t>(kWarps) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const int t = row % tokens;
  const int64_t patch = row / tokens * (tokens - first) + t - first;
  float4 values[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int c = Column(v, lane);
    values[v] = t == 0      ? Load(class_token + c)
                : t < first ? Load(registers + (t - 1) * kWidth + c)
                            : Load(patches + patch * kWidth + c);
  }
  StoreRow(x, row, values);
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    EmbedKernel(const int64_t* __restrict__ bytes,
                const float* __restrict__ embedding, Residual x, int64_t rows) {
  const int lane = threadIdx.x % kWarp;
  const int64_t row =
      blockIdx.x * static_cast<int64_t>(kWarps) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const float* const from = embedding + bytes[row] * V * kWarp * 4;
  float4 values[V];
#pragma unroll
  for (int v = 0; v < V; ++v) values[v] = Load(from + Column(v, lane));
  StoreRow(x, row, values);
}

__global__ void OneHotKernel(const int64_t* __restrict__ bytes,
                             Bf16* __restrict__ out, int64_t count,
                             int64_t kinds) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  out[i] = __float2bfloat16(bytes[i / kinds] == i % kinds ? 1.f : 0.f);
}

template <int V>
__global__ void __launch_bounds__(kThreads)
    AssembleBackwardKernel(Residual dx, Bf16* __restrict__ dpatches,
                           float* partial, int64_t batch, int tokens,
                           int first) {
  extern __shared__ float shared[];
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  const int patches = tokens - first;
  float4 sums[V] = {};
  for (int64_t row = blockIdx.x * kWarps + threadIdx.x / kWarp;
       row < batch * patches; row += gridDim.x * kWarps) {
    const int64_t from = (row / patches) * tokens + first + row % patches;
    const float unit = dx.units[from];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float4 g = Load(dx.values + from * kWidth + Column(v, lane), unit);
      Store(dpatches + row * kWidth + Column(v, lane), g);
      sums[v] = sums[v] + g;
    }
  }
  WriteBlockSums<V>(sums, shared, partial + blockIdx.x * kWidth);
}

// One block per learned token; 32 columns by 8 parts of the batch at a time.
__global__ void TokenGradientKernel(Residual dx, float* class_token,
                                    float* registers, int64_t batch, int tokens,
                                    int width, bool accumulate) {
  __shared__ float part[kWarps][kWarp];
  const int t = blockIdx.x;
  const int c = blockIdx.y * kWarp + threadIdx.x % kWarp;
  const int w = threadIdx.x / kWarp;
  float sum = 0;
  for (int64_t b = w; b < batch; b += kWarps) {
    const int64_t row = b * tokens + t;
    sum += (dx.values[row * width + c] - 32768.f) * dx.units[row];
  }
  part[w][threadIdx.x % kWarp] = sum;
  __syncthreads();
  if (w != 0) return;
  sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += part[i][threadIdx.x];
  float* const out = t == 0 ? class_token + c : registers + (t - 1) * width + c;
  *out = accumulate ? *out + sum : sum;
}

template <int V, int kBranches>
__global__ void __launch_bounds__(kThreads) AddNormKernel(AddNorm a) {
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  // From the last row on: what the product before wrote last is still in the
  // second cache, and what comes last here is what the next one reads first.
  const int64_t row = a.rows - 1 - blockIdx.x * kWarps - threadIdx.x / kWarp;
  if (row < 0) return;
  AddNormRow<V, kBranches>(a, row, [&](int v, float4 normed) {
    Store(a.normed + row * kWidth + Column(v, lane), normed);
  });
}

// Blocks per processor of NormBackwardKernel.
constexpr int NormBackwardBlocks(int v) { return v > 3 ? 2 : 3; }
template <int V, bool kBranch>
__global__ void __launch_bounds__(kThreads, NormBackwardBlocks(V))
    NormBackwardKernel(NormBackward a, float* parts) {
  extern __shared__ float shared[];
  constexpr int kWidth = V * kWarp * 4;
  const int lane = threadIdx.x % kWarp;
  NormBackwardRows<V, kBranch> rows(a);
  // From the last row on, as AddNormKernel.
  for (int64_t row = a.rows - 1 - blockIdx.x * kWarps - threadIdx.x / kWarp;
       row >= 0; row -= gridDim.x * kWarps) {
    rows.Row(a, row, [&](int v, float4 dy) {
      Store(a.dy + row * kWidth + Column(v, lane), dy);
    });
  }
  rows.WriteSums(parts, shared);
}

// Calls f with V = width / 128 as a constant.
template <typename F>
void ByWidth(int64_t width, F f) {
  switch (width) {
    case 128:
      return f(std::integral_constant<int, 1>());
    case 256:
      return f(std::integral_constant<int, 2>());
    case 384:
      return f(std::integral_constant<int, 3>());
    case 512:
      return f(std::integral_constant<int, 4>());
    case 768:
      return f(std::integral_constant<int, 6>());
  }
  throw std::runtime_error("the fused engine has no kernels of width " +
                           std::to_string(width));
}

constexpr int kHeadsPerBlock = kThreads / kHeadLanes;

// One item is one head of Q or K of one row.
__global__ void __launch_bounds__(kThreads)
    QkForwardKernel(QkNormRope a, Bf16* qkv, float* __restrict__ rstds) {
  const int64_t item = blockIdx.x * static_cast<int64_t>(kHeadsPerBlock) +
                       threadIdx.x / kHeadLanes;
  const int c = (threadIdx.x % kHeadLanes) * 4;
  const bool inside = item < a.rows * 2 * a.heads;
  const int64_t safe = inside ? item : 0;
  const int64_t row = safe / (2 * a.heads);
  const int part = safe % (2 * a.heads);
  const bool is_k = part >= a.heads;
  Bf16* const place = qkv + (row * 3 * a.heads + part) * kHead;
  const float4 x1 = Load(place + c), x2 = Load(place + kHalf + c);
  const float rstd =
      rsqrtf(HeadSum(Sum(x1 * x1) + Sum(x2 * x2)) / kHead + kEpsilon);
  const float* const w = is_k ? a.k_weight : a.q_weight;
  const float4 n1 = x1 * rstd * NotZero(Load(w + c));
  const float4 n2 = x2 * rstd * NotZero(Load(w + kHalf + c));
  const int64_t t = row % a.tokens;
  const float4 cos = Load(a.cos + t * kHead + c);
  const float4 sin = Load(a.sin + t * kHead + c);
  if (!inside) return;
  Store(place + c, n1 * cos - n2 * sin);
  Store(place + kHalf + c, n2 * cos + n1 * sin);
  if (c == 0) rstds[item] = rstd;
}

__global__ void __launch_bounds__(kThreads)
    QkBackwardKernel(QkNormRope a, const float* __restrict__ rstds,
                     const Bf16* __restrict__ dq, const Bf16* __restrict__ dk,
                     const Bf16* __restrict__ dv, Bf16* __restrict__ dqkv,
                     float* partial) {
  __shared__ float shared[kHeadsPerBlock][2 * kHead];
  const int slot = threadIdx.x / kHeadLanes;
  const int c = (threadIdx.x % kHeadLanes) * 4;
  // Of Q, then of K. In registers they would halve the number of warps.
  __shared__ __align__(16) float weights[2 * kHead], inverses[2 * kHead];
  if (threadIdx.x < 2 * kHead) {
    const float weight = NotZero(
        (threadIdx.x < kHead ? a.q_weight : a.k_weight)[threadIdx.x % kHead]);
    weights[threadIdx.x] = weight;
    inverses[threadIdx.x] = 1 / weight;
  }
  __syncthreads();
  float4 sums[2][2] = {};
  // One item is one head of one row: Q, K and V.
  const int64_t items = a.rows * a.heads;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kHeadsPerBlock;
  for (int64_t base = blockIdx.x * static_cast<int64_t>(kHeadsPerBlock);
       base < items; base += step) {
    const int64_t item = base + slot;
    const bool inside = item < items;
    const int64_t safe = inside ? item : 0;
    const int64_t row = safe / a.heads;
    const int head = safe % a.heads;
    const int64_t t = row % a.tokens;
    const float4 cos = Load(a.cos + t * kHead + c);
    const float4 sin = Load(a.sin + t * kHead + c);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int64_t at = (row * 3 * a.heads + part * a.heads + head) * kHead;
      const Bf16* const d = (part == 0 ? dq : dk) + safe * kHead;
      const float4 g1 = Load(d + c), g2 = Load(d + kHalf + c);
      const float4 y1 = Load(a.qkv + at + c), y2 = Load(a.qkv + at + kHalf + c);
      const float rstd = rstds[(row * 2 + part) * a.heads + head];
      // A rotation's gradient is turned back by the same angle, and so is what
      // was rotated.
      const float4 n1 = g1 * cos + g2 * sin, n2 = g2 * cos - g1 * sin;
      const float4 x1 = y1 * cos + y2 * sin, x2 = y2 * cos - y1 * sin;
      // Weights and their inverses cancel.
      const float4 product1 = n1 * x1, product2 = n2 * x2;
      const float dot = HeadSum(Sum(product1) + Sum(product2)) / kHead;
      if (inside) {
        sums[part][0] = sums[part][0] + product1;
        sums[part][1] = sums[part][1] + product2;
        const auto gradient = [&](float4 n, float4 x, int half) {
          const int first = part * kHead + half * kHalf + c;
          return (n * Load(weights + first) -
                  x * Load(inverses + first) * dot) *
                 rstd;
        };
        Store(dqkv + at + c, gradient(n1, x1, 0));
        Store(dqkv + at + kHalf + c, gradient(n2, x2, 1));
      }
    }
    if (inside) {
      const int64_t at = (row * 3 * a.heads + 2 * a.heads + head) * kHead;
      *reinterpret_cast<uint2*>(dqkv + at + c) =
          *reinterpret_cast<const uint2*>(dv + safe * kHead + c);
      *reinterpret_cast<uint2*>(dqkv + at + kHalf + c) =
          *reinterpret_cast<const uint2*>(dv + safe * kHead + kHalf + c);
    }
  }
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    Store(&shared[slot][part * kHead + c], sums[part][0]);
    Store(&shared[slot][part * kHead + kHalf + c], sums[part][1]);
  }
  __syncthreads();
  if (threadIdx.x < 2 * kHead) {
    float sum = 0;
    for (int i = 0; i < kHeadsPerBlock; ++i) sum += shared[i][threadIdx.x];
    partial[blockIdx.x * 2 * kHead + threadIdx.x] = sum * inverses[threadIdx.x];
  }
}

// Eight values of bf16 are 16 bytes.
struct Eight {
  float4 a, b;
};
__device__ __forceinline__ Eight LoadEight(const Bf16* p) {
  const uint4 raw = *reinterpret_cast<const uint4*>(p);
  __align__(16) Bf16 values[8];
  *reinterpret_cast<uint4*>(values) = raw;
  return {Load(values), Load(values + 4)};
}
__device__ __forceinline__ void StoreEight(Bf16* p, const Eight& v) {
  __align__(16) Bf16 values[8];
  Store(values, v.a);
  Store(values + 4, v.b);
  *reinterpret_cast<uint4*>(p) = *reinterpret_cast<const uint4*>(values);
}

__device__ __forceinline__ float4 GeluSlope4(float4 x) {
  return make_float4(Gelu(x.x).slope, Gelu(x.y).slope, Gelu(x.z).slope,
                     Gelu(x.w).slope);
}
__device__ __forceinline__ float4 Gelu4(float4 x) {
  return make_float4(Gelu(x.x).value, Gelu(x.y).value, Gelu(x.z).value,
                     Gelu(x.w).value);
}

// Each thread owns eight columns and walks down rows, so the sums of columns
// stay in registers. A block covers 256 columns by eight rows at a time.
constexpr int kGeluColumns = kWarp * 8;
template <bool kAgain>
__global__ void __launch_bounds__(kThreads)
    GeluBackwardKernel(const Bf16* __restrict__ in, Bf16* gradient,
                       Bf16* __restrict__ again, float* partial, int64_t rows,
                       int width) {
  __shared__ float shared[kWarps][kGeluColumns];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int column = blockIdx.x * kGeluColumns + lane * 8;
  Eight sums = {};
  for (int64_t row = blockIdx.y * kWarps + warp; row < rows;
       row += gridDim.y * kWarps) {
    const int64_t at = row * width + column;
    const Eight x = LoadEight(in + at);
    Eight g = LoadEight(gradient + at);
    g.a = g.a * GeluSlope4(x.a);
    g.b = g.b * GeluSlope4(x.b);
    StoreEight(gradient + at, g);
    if (kAgain) StoreEight(again + at, {Gelu4(x.a), Gelu4(x.b)});
    sums.a = sums.a + g.a;
    sums.b = sums.b + g.b;
  }
  Store(&shared[warp][lane * 8], sums.a);
  Store(&shared[warp][lane * 8 + 4], sums.b);
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += shared[w][threadIdx.x];
  partial[blockIdx.y * width + blockIdx.x * kGeluColumns + threadIdx.x] = sum;
}

}  // namespace

int64_t PartialFloats(int64_t width) { return kBlocks * 4 * width; }

void Patchify(const float* images, Bf16* patches, int64_t batch,
              int64_t channels, int64_t side, int64_t patch, cudaStream_t s) {
  const int64_t fours = batch * channels * side * side / 4;
  PatchifyKernel<<<2112, kThreads, 0, s>>>(images, patches, fours, channels,
                                           side, patch);
  Check("patchify");
}

void AssembleTokens(const Bf16* patches, const float* class_token,
                    const float* registers, const Residual& x, int64_t batch,
                    int64_t tokens, int64_t first, int64_t width,
                    cudaStream_t s) {
  const int64_t rows = batch * tokens;
  ByWidth(width, [&](auto v) {
    AssembleKernel<decltype(v)::value>
        <<<(rows + kWarps - 1) / kWarps, kThreads, 0, s>>>(
            patches, class_token, registers, x, rows, tokens, first);
  });
  Check("assemble");
}

void AssembleTokensBackward(const Residual& dx, Bf16* dpatches,
                            float* dclass_token, float* dregisters,
                            float* dbias, SumList* sums, int64_t batch,
                            int64_t tokens, int64_t first, int64_t width,
                            bool accumulate, cudaStream_t s) {
  float* const partial = sums->Take(kBlocks * width);
  ByWidth(width, [&](auto v) {
    constexpr int V = decltype(v)::value;
    AssembleBackwardKernel<V>
        <<<kBlocks, kThreads, kWarps * width * sizeof(float), s>>>(
            dx, dpatches, partial, batch, tokens, first);
  });
  Check("assemble backward");
  sums->Add(partial, kBlocks, width, width, dbias, accumulate);
  TokenGradientKernel<<<dim3(first, width / kWarp), kThreads, 0, s>>>(
      dx, dclass_token, dregisters, batch, tokens, width, accumulate);
  Check("token gradient");
}

void EmbedBytes(const int64_t* bytes, const float* embedding, const Residual& x,
                int64_t rows, int64_t width, cudaStream_t s) {
  ByWidth(width, [&](auto v) {
    EmbedKernel<decltype(v)::value>
        <<<(rows + kWarps - 1) / kWarps, kThreads, 0, s>>>(bytes, embedding, x,
                                                           rows);
  });
  Check("embed");
}

void OneHot(const int64_t* bytes, Bf16* out, int64_t rows, int64_t kinds,
            cudaStream_t s) {
  const int64_t count = rows * kinds;
  OneHotKernel<<<(count + kThreads - 1) / kThreads, kThreads, 0, s>>>(
      bytes, out, count, kinds);
  Check("one hot");
}

void RunAddNorm(const AddNorm& a, cudaStream_t s) {
  const int blocks = (a.rows + kWarps - 1) / kWarps;
  ByWidth(a.width, [&](auto v) {
    constexpr int V = decltype(v)::value;
    const auto kernel = a.branches[1].y != nullptr   ? AddNormKernel<V, 2>
                        : a.branches[0].y != nullptr ? AddNormKernel<V, 1>
                                                     : AddNormKernel<V, 0>;
    kernel<<<blocks, kThreads, 0, s>>>(a);
  });
  Check("add and norm");
}

void RunNormBackward(const NormBackward& a, cudaStream_t s) {
  const size_t shared = kWarps * a.width * sizeof(float);
  ByWidth(a.width, [&](auto v) {
    constexpr int V = decltype(v)::value;
    const int blocks = std::min<int64_t>((a.rows + kWarps - 1) / kWarps,
                                         kBlocks / 4 * NormBackwardBlocks(V));
    float* const parts = NormParts(a, blocks);
    const auto kernel = a.scale != nullptr ? NormBackwardKernel<V, true>
                                           : NormBackwardKernel<V, false>;
    kernel<<<blocks, kThreads, shared, s>>>(a, parts);
  });
  Check("norm backward");
}

void RunQkNormRope(const QkNormRope& a, Bf16* qkv, float* rstd,
                   cudaStream_t s) {
  const int64_t items = a.rows * 2 * a.heads;
  QkForwardKernel<<<(items + kHeadsPerBlock - 1) / kHeadsPerBlock, kThreads, 0,
                    s>>>(a, qkv, rstd);
  Check("norm and rotation of heads");
}

void RunQkNormRopeBackward(const QkNormRope& a, const float* rstd,
                           const Bf16* dq, const Bf16* dk, const Bf16* dv,
                           Bf16* dqkv, float* dq_weight, float* dk_weight,
                           SumList* sums, bool accumulate, cudaStream_t s) {
  const int blocks = 2 * kBlocks;
  float* const partial = sums->Take(blocks * 2 * kHead);
  QkBackwardKernel<<<blocks, kThreads, 0, s>>>(a, rstd, dq, dk, dv, dqkv,
                                               partial);
  Check("norm and rotation of heads, backward");
  sums->Add(partial, blocks, 2 * kHead, kHead, dq_weight, accumulate);
  sums->Add(partial + kHead, blocks, 2 * kHead, kHead, dk_weight, accumulate);
}

void GeluBackward(const Bf16* in, Bf16* gradient, Bf16* again, float* dbias,
                  SumList* sums, int64_t rows, int64_t width, bool accumulate,
                  cudaStream_t s) {
  const int columns = width / kGeluColumns;
  const int row_blocks = 1056 / columns;
  float* const partial = sums->Take(row_blocks * width);
  const auto kernel =
      again != nullptr ? GeluBackwardKernel<true> : GeluBackwardKernel<false>;
  kernel<<<dim3(columns, row_blocks), kThreads, 0, s>>>(in, gradient, again,
                                                        partial, rows, width);
  Check("gelu backward");
  sums->Add(partial, row_blocks, width, width, dbias, accumulate);
}

}  // namespace fused
}  // namespace feedrate
