#include <type_traits>

#include "lib/model/fused/fp8.cuh"
#include "lib/model/fused/hopper.cuh"
#include "lib/model/fused/norms.cuh"

namespace feedrate {
namespace fused {
namespace {

__global__ void UpdateKernel(Fp8Scale* scales, float* history, int64_t* step,
                             int first, int count, bool anew) {
  const int64_t now = *step;
  for (int i = first + threadIdx.x; i < first + count; i += blockDim.x) {
    Fp8Scale* const scale = &scales[i];
    float* const past = history + i * kFp8History;
    if (anew) {
      for (int j = 0; j < kFp8History; ++j) past[j] = 0;
      scale->clipped = 0;
    }
    past[now % kFp8History] = __uint_as_float(scale->largest);
    scale->largest = 0;
    float most = 0;
    for (int j = 0; j < kFp8History; ++j) most = fmaxf(most, past[j]);
    if (most == 0) continue;
    scale->scale = scale->limit / (2 * most);
    scale->inverse = 2 * most / scale->limit;
  }
  __syncthreads();
  if (threadIdx.x == 0) *step = now + 1;
}

constexpr int kWeightTile = 64;

// A block takes a tile of 64 x 64 of one matrix.
__global__ void __launch_bounds__(kThreads)
    WeightsKernel(const Fp8Weight* weights) {
  // One word more per row spreads a column over the banks.
  __shared__ uint32_t bytes[kWeightTile][kWeightTile / 4 + 1];
  const Fp8Weight a = weights[blockIdx.y];
  const int across = a.inputs / kWeightTile;
  if (static_cast<int>(blockIdx.x) >= across * (a.outputs / kWeightTile)) {
    return;
  }
  const int row = blockIdx.x / across * kWeightTile;
  const int column = blockIdx.x % across * kWeightTile;
  Fp8Rounding<false> rounding(a.out.scale);
  constexpr int kWords = kWeightTile / 4;
  constexpr int kEach = kWeightTile * kWords / kThreads;
  float4 values[kEach];
#pragma unroll
  for (int n = 0; n < kEach; ++n) {
    const int i = n * kThreads + threadIdx.x, r = i / kWords, c = i % kWords;
    // Row r of what is written.
    const int channel = a.lane_rows ? r / 32 * 32 + Fp8Channel(r % 32) : r;
    values[n] =
        Load(a.values + static_cast<int64_t>(a.inputs) * (row + channel) +
             column + c * 4);
    const uint32_t word = rounding.Round(values[n]);
    if (a.out.rows != nullptr) {
      *reinterpret_cast<uint32_t*>(a.out.rows +
                                   static_cast<int64_t>(a.inputs) * (row + r) +
                                   column + c * 4) = word;
    }
    bytes[channel][c] = word;
  }
  rounding.Watch(values);
  rounding.Note(a.out.scale);
  if (a.out.columns == nullptr) return;
  __syncthreads();
  // Four rows by four columns per thread.
  for (int i = threadIdx.x; i < kWords * kWords; i += kThreads) {
    const int r = i % kWords * 4, c = i / kWords;
    uint32_t w[4];
    for (int k = 0; k < 4; ++k) w[k] = bytes[r + k][c];
    TransposeBytes(w);
    for (int k = 0; k < 4; ++k) {
      const int channel = column + c * 4 + k;
      const int to = a.lane_columns
                         ? channel / 32 * 32 + Fp8Channel(channel % 32)
                         : channel;
      *reinterpret_cast<uint32_t*>(
          a.out.columns + static_cast<int64_t>(a.outputs) * to + row + r) =
          w[k];
    }
  }
}

// The 32 rows that are 32 places of a transposed tensor.
constexpr int kPlaces = 32;
__device__ __forceinline__ int64_t RowOf(int64_t group, int local) {
  return group / 4 * kFp8Rows + group % 4 * 16 + local / 16 * 64 + local % 16;
}

// What a row of a group becomes on its way to a transposed tensor: words of
// four columns, one word more to spread rows over the banks.
template <int V>
struct RowWords {
  static constexpr int kPitch = V * kWarp + 1;

  __device__ void Set(int local, int v, uint32_t word) {
    words[local * kPitch + v * kWarp + threadIdx.x % kWarp] = word;
  }
  __device__ void Clear(int local) {
    for (int v = 0; v < V; ++v) Set(local, v, 0);
  }
  // Writes all of them to the places of the group. All threads of the block.
  __device__ void WriteColumns(int64_t group, int64_t padded,
                               uint8_t* columns) const {
    for (int i = threadIdx.x; i < V * kWarp * 4; i += blockDim.x) {
      const int c = i / 4, first = i % 4 * 8;
      uint32_t place[2][4];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int b = 0; b < 4; ++b) {
          const int row = Fp8Row(first + 4 * k + b);
          place[k][b] = words[(row / 64 * 16 + row % 64) * kPitch + c];
        }
        TransposeBytes(place[k]);
      }
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        *reinterpret_cast<uint2*>(columns + (c * 4 + b) * padded +
                                  group * kPlaces + first) =
            make_uint2(place[0][b], place[1][b]);
      }
    }
  }

  uint32_t words[kPlaces * kPitch];
};

// Writes a row, and notes it.
template <int V, bool kGradient>
__device__ __forceinline__ void WriteRow(const float4 (&values)[V], int64_t row,
                                         uint8_t* rows,
                                         Fp8Rounding<kGradient>* rounding,
                                         RowWords<V>* words, int local) {
  const int lane = threadIdx.x % kWarp;
  rounding->Watch(values);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const uint32_t word = rounding->Round(values[v]);
    *reinterpret_cast<uint32_t*>(rows + row * V * kWarp * 4 + Column(v, lane)) =
        word;
    if (words != nullptr) words->Set(local, v, word);
  }
}

// One row per warp.
template <int V, int kBranches>
__global__ void __launch_bounds__(kThreads)
    AddNormRowsKernel(AddNorm a, Fp8Out out) {
  const int lane = threadIdx.x % kWarp;
  const int64_t row = a.rows - 1 - blockIdx.x * kWarps - threadIdx.x / kWarp;
  if (row < 0) return;
  Fp8Rounding<false> rounding(out.scale);
  float4 values[V];
  AddNormRow<V, kBranches>(a, row, [&](int v, float4 normed) {
    if (a.normed != nullptr) {
      Store(a.normed + row * V * kWarp * 4 + Column(v, lane), normed);
    }
    values[v] = normed;
  });
  WriteRow(values, row, out.rows, &rounding, static_cast<RowWords<V>*>(nullptr),
           0);
  rounding.Note(out.scale);
}

// The same and transposed; each block has 32 rows, each warp two of them.
constexpr int kNormThreads = 512;
template <int V, int kBranches>
__global__ void __launch_bounds__(kNormThreads, V == 3 ? 3 : 1)
    AddNormKernel(AddNorm a, Fp8Out out, int64_t padded) {
  __shared__ RowWords<V> words;
  const int lane = threadIdx.x % kWarp;
  Fp8Rounding<false> rounding(out.scale);
  constexpr int kRows = kPlaces * kWarp / kNormThreads;
  // From the last rows on, as without FP8.
  const int64_t group = gridDim.x - 1 - blockIdx.x;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int local = threadIdx.x / kWarp * kRows + i;
    const int64_t row = RowOf(group, local);
    if (row >= a.rows) {
      words.Clear(local);
      continue;
    }
    float4 values[V];
    AddNormRow<V, kBranches>(a, row, [&](int v, float4 normed) {
      if (a.normed != nullptr) {
        Store(a.normed + row * V * kWarp * 4 + Column(v, lane), normed);
      }
      values[v] = normed;
    });
    WriteRow(values, row, out.rows, &rounding, &words, local);
  }
  rounding.Note(out.scale);
  __syncthreads();
  words.WriteColumns(group, padded, out.columns);
}

// Blocks per processor of NormBackwardKernel.
constexpr int NormBackwardBlocks(int v) { return v > 3 ? 2 : 3; }
template <int V>
__global__ void __launch_bounds__(kThreads, NormBackwardBlocks(V))
    NormBackwardKernel(NormBackward a, Fp8Out out, int64_t padded,
                       float* parts) {
  extern __shared__ uint32_t shared[];
  // By turns, so that one barrier per group is enough.
  RowWords<V>* const both = reinterpret_cast<RowWords<V>*>(shared);
  Fp8Rounding<true> rounding(out.scale);
  NormBackwardRows<V, true> rows(a);
  int turn = 0;
  for (int64_t group = padded / kPlaces - 1 - blockIdx.x; group >= 0;
       group -= gridDim.x, turn ^= 1) {
    for (int i = 0; i < kPlaces / kWarps; ++i) {
      const int local = threadIdx.x / kWarp * (kPlaces / kWarps) + i;
      const int64_t row = RowOf(group, local);
      if (row >= a.rows) {
        both[turn].Clear(local);
        continue;
      }
      float4 values[V];
      rows.Row(a, row, [&](int v, float4 dy) { values[v] = dy; });
      WriteRow(values, row, out.rows, &rounding, &both[turn], local);
    }
    __syncthreads();
    both[turn].WriteColumns(group, padded, out.columns);
  }
  rounding.Note(out.scale);
  __syncthreads();
  rows.WriteSums(parts, reinterpret_cast<float*>(shared));
}

// Calls f with V = width / 128 as a constant.
template <typename F>
void ByWidth(int64_t width, F f) {
  if (width == 384) return f(std::integral_constant<int, 3>());
  if (width == 768) return f(std::integral_constant<int, 6>());
  throw std::runtime_error("FP8 has no kernels of width " +
                           std::to_string(width));
}

}  // namespace

bool HasFp8(int64_t width, int64_t hidden) {
  return hopper::IsDevice() && (width == 384 || width == 768) &&
         hidden % 128 == 0;
}

void UpdateFp8Scales(Fp8Scale* scales, float* history, int64_t* step, int first,
                     int count, bool anew, cudaStream_t s) {
  UpdateKernel<<<1, kThreads, 0, s>>>(scales, history, step, first, count,
                                      anew);
  Check("scales of FP8");
}

void RunFp8Weights(const Fp8Weight* weights, int count, int tiles,
                   cudaStream_t s) {
  WeightsKernel<<<dim3(tiles, count), kThreads, 0, s>>>(weights);
  Check("weights in FP8");
}

void RunAddNormFp8(const AddNorm& a, const Fp8Out& normed, cudaStream_t s) {
  const int64_t padded = Fp8PaddedRows(a.rows);
  ByWidth(a.width, [&](auto v) {
    constexpr int V = decltype(v)::value;
    const bool both = a.branches[1].y != nullptr;
    const bool one = a.branches[0].y != nullptr;
    if (normed.columns == nullptr) {
      const auto kernel = both  ? AddNormRowsKernel<V, 2>
                          : one ? AddNormRowsKernel<V, 1>
                                : AddNormRowsKernel<V, 0>;
      kernel<<<(a.rows + kWarps - 1) / kWarps, kThreads, 0, s>>>(a, normed);
    } else {
      const auto kernel = both  ? AddNormKernel<V, 2>
                          : one ? AddNormKernel<V, 1>
                                : AddNormKernel<V, 0>;
      kernel<<<padded / kPlaces, kNormThreads, 0, s>>>(a, normed, padded);
    }
  });
  Check("add and norm in FP8");
}

void RunNormBackwardFp8(const NormBackward& a, const Fp8Out& dy,
                        cudaStream_t s) {
  const int64_t padded = Fp8PaddedRows(a.rows);
  ByWidth(a.width, [&](auto v) {
    constexpr int V = decltype(v)::value;
    const int blocks = std::min<int64_t>(
        padded / kPlaces, hopper::Processors() * NormBackwardBlocks(V));
    float* const parts = NormParts(a, blocks);
    constexpr int kBytes = 2 * sizeof(RowWords<V>);
    const auto kernel = NormBackwardKernel<V>;
    // More than every kernel may have.
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         kBytes);
    kernel<<<blocks, kThreads, kBytes, s>>>(a, dy, padded, parts);
  });
  Check("norm backward in FP8");
}

}  // namespace fused
}  // namespace feedrate
