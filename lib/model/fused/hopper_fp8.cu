// The two products of an MLP that touch GELU, in FP8. What their epilogues read
// and write goes straight between registers and memory: weights lie in the
// order of the lanes, so a lane has eight channels side by side.
#include <type_traits>

#include "lib/model/fused/fp8.cuh"
#include "lib/model/fused/hopper_products.cuh"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {
namespace fused {
namespace {

using namespace products;  // NOLINT

// A warp's 8 x 8 pairs of bytes, transposed.
__device__ __forceinline__ uint32_t TransposePairs(uint32_t pairs) {
  uint32_t out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
               : "=r"(out)
               : "r"(pairs));
  return out;
}

// Where a thread writes a part of a tile: eight values of each of its rows i,
// and the transposed ones. kWhole: the tile has all its rows.
struct Fp8Part {
  Fp8Out out;
  int64_t rows, width, padded;

  // `values[i]`: of row Row(i) of the tile, channels from `channel` on.
  template <bool kWhole, bool kGradient>
  __device__ __forceinline__ void Write(const float4 (&values)[8],
                                        Fp8Rounding<kGradient>* rounding,
                                        const Lanes& lanes, int row,
                                        int channel) const {
    rounding->Watch(values);
    uint2 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = make_uint2(rounding->Round(values[2 * i]),
                            rounding->Round(values[2 * i + 1]));
      const int64_t at = row + lanes.Row(i);
      if (kWhole || at < rows) {
        *reinterpret_cast<uint2*>(out.rows + at * width + channel +
                                  8 * lanes.t) = words[i];
      } else {
        // Beyond the rows, the transposed tensor stays zero.
        words[i] = make_uint2(0, 0);
      }
    }
    if (!kWhole) __syncwarp();
      // Pair j of channels of the rows g and g + 8, in both halves of the tile.
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      uint32_t half[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const uint2 a = words[2 * h], b = words[2 * h + 1];
        half[h] =
            TransposePairs(__byte_perm(j < 2 ? a.x : a.y, j < 2 ? b.x : b.y,
                                       j % 2 == 0 ? 0x5140 : 0x7362));
      }
      const int64_t to = channel + 8 * (lanes.g >> 1) + 2 * j + (lanes.g & 1);
      *reinterpret_cast<uint2*>(out.columns + to * padded + row +
                                32 * lanes.warp + 8 * lanes.t) =
          make_uint2(half[0], half[1]);
    }
  }
};

// Eight bf16 values.
__device__ __forceinline__ uint4 LoadEight(const void* p) {
  return __ldg(static_cast<const uint4*>(p));
}
// GELU of sums + bias, and its slope.
struct UpEpilogue {
  using Arguments = UpProductFp8;
  struct Memory {};
  __device__ explicit UpEpilogue(const UpProductFp8& a)
      : factor(a.x.scale->inverse * a.weight.scale->inverse),
        bias(a.bias),
        slopes(reinterpret_cast<uint4*>(a.slope)),
        part{a.activated, a.rows, a.hidden, Fp8PaddedRows(a.rows)},
        rounding(a.activated.scale) {}

  __device__ void Begin(const ProductMaps&, int, int, int, Memory*) const {}
  __device__ void End() { rounding.Note(part.out.scale); }
  __device__ void Run(const ProductMaps&, Tile& tile, int, int row, int column,
                      Memory*) {
    if (row + kTileRows <= part.rows) {
      RunRows<true>(tile, row, column);
    } else {
      RunRows<false>(tile, row, column);
    }
  }
  template <bool kWhole>
  __device__ __forceinline__ void RunRows(Tile& tile, int row, int column) {
    const Lanes lanes;
    uint4* const to = slopes + Slopes::Place(part.width, row, column);
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const int channel = column + p * kBoxColumns;
      uint32_t codes[8];
      const uint4 add = LoadEight(bias + channel + 8 * lanes.t);
      float4 values[8];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value[8], slope[8];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint32_t raw = Word(add, j);
          const float2 b = __bfloat1622float2(
              *reinterpret_cast<const __nv_bfloat162*>(&raw));
          const Gelu low(fmaf(ValueOf(tile, i, p * 4 + j, 0), factor, b.x));
          const Gelu high(fmaf(ValueOf(tile, i, p * 4 + j, 1), factor, b.y));
          value[2 * j] = low.value;
          value[2 * j + 1] = high.value;
          slope[2 * j] = low.slope;
          slope[2 * j + 1] = high.slope;
        }
        for (int h = 0; h < 2; ++h) {
          codes[2 * i + h] = Slopes::Pack(slope[4 * h], slope[4 * h + 1],
                                          slope[4 * h + 2], slope[4 * h + 3]);
        }
        const bool inside = kWhole || row + lanes.Row(i) < part.rows;
#pragma unroll
        for (int k = 0; k < 8; ++k) value[k] = inside ? value[k] : 0;
        values[2 * i] = make_float4(value[0], value[1], value[2], value[3]);
        values[2 * i + 1] = make_float4(value[4], value[5], value[6], value[7]);
      }
      for (int h = 0; h < 2; ++h) {
        to[(2 * p + h) * kGroupThreads] = make_uint4(
            codes[4 * h], codes[4 * h + 1], codes[4 * h + 2], codes[4 * h + 3]);
      }
      part.Write<kWhole>(values, &rounding, lanes, row, channel);
    }
  }

  float factor;
  const Bf16* bias;
  uint4* slopes;
  Fp8Part part;
  Fp8Rounding<false> rounding;
};

// gradient = sums times slopes, and the sums of its columns.
struct GradientEpilogue {
  struct Arguments {
    DownGradientFp8 job;
    // One row of sums per tile of rows.
    float* partial;
  };
  struct Memory {
    // By turns.
    float sums[kGroups][2][kGroupWarps][kTileColumns];
  };
  __device__ explicit GradientEpilogue(const Arguments& a)
      : factor(a.job.dy.scale->inverse * a.job.weight.scale->inverse),
        from(reinterpret_cast<const uint4*>(a.job.slope)),
        partial(a.partial),
        part{a.job.gradient, a.job.rows, a.job.hidden,
             Fp8PaddedRows(a.job.rows)},
        rounding(a.job.gradient.scale) {}

  // Loads slopes while the tensor cores work.
  __device__ void Begin(const ProductMaps&, int, int row, int column, Memory*) {
    const uint4* const at = from + Slopes::Place(part.width, row, column);
#pragma unroll
    for (int i = 0; i < Slopes::kVectors; ++i) {
      slopes[i] = __ldg(at + i * kGroupThreads);
    }
  }
  __device__ void End() { rounding.Note(part.out.scale); }

  __device__ void Run(const ProductMaps&, Tile& tile, int group, int row,
                      int column, Memory* m) {
    if (row + kTileRows <= part.rows) {
      RunRows<true>(tile, row, column, m->sums[group][turn]);
    } else {
      RunRows<false>(tile, row, column, m->sums[group][turn]);
    }
    // The sums of the tile after the next one come here again, behind another
    // barrier.
    GroupSync(group);
    const int thread = threadIdx.x % kGroupThreads;
    float sum = 0;
    for (int w = 0; w < kGroupWarps; ++w)
      sum += m->sums[group][turn][w][thread];
    partial[row / kTileRows * part.width + column + thread] = sum;
    turn ^= 1;
  }

  template <bool kWhole>
  __device__ __forceinline__ void RunRows(
      Tile& tile, int row, int column,
      float (&warps)[kGroupWarps][kTileColumns]) {
    const Lanes lanes;
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      float4 values[8];
      float sums[8] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value[8];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint32_t word = Word(slopes[2 * p + i / 2], i % 2 * 2 + j / 2);
          value[2 * j] = ValueOf(tile, i, p * 4 + j, 0) * factor *
                         Slopes::Unpack(word, j % 2 * 2);
          value[2 * j + 1] = ValueOf(tile, i, p * 4 + j, 1) * factor *
                             Slopes::Unpack(word, j % 2 * 2 + 1);
          sums[2 * j] += value[2 * j];
          sums[2 * j + 1] += value[2 * j + 1];
        }
        values[2 * i] = make_float4(value[0], value[1], value[2], value[3]);
        values[2 * i + 1] = make_float4(value[4], value[5], value[6], value[7]);
      }
      part.Write<kWhole>(values, &rounding, lanes, row,
                         column + p * kBoxColumns);
      // Adds the sums of the eight lanes that have the same channels: bits 16,
      // 8 and 4 of the lane pick channels 4, 2 and 1 of the 8.
      HalveSums<4, 16>(sums);
      HalveSums<2, 8>(sums);
      HalveSums<1, 4>(sums);
      const int channel =
          (lanes.g >> 2 & 1) * 4 + (lanes.g >> 1 & 1) * 2 + (lanes.g & 1);
      warps[lanes.warp][p * kBoxColumns + 8 * lanes.t + channel] = sums[0];
    }
  }

  float factor;
  const uint4* from;
  float* partial;
  Fp8Part part;
  Fp8Rounding<true> rounding;
  uint4 slopes[Slopes::kVectors];
  int turn = 0;
};

CUtensorMap MapOf(const uint8_t* matrix, int64_t rows, int64_t columns) {
  return hopper::MapOf(matrix, {columns, rows},
                       {hopper::kTileRowBytes, kTileRows}, /*value_bytes=*/1);
}

// Calls f with the chunks of a width as a constant.
template <typename F>
void ByChunks(int64_t width, F f) {
  if (width == 384) return f(std::integral_constant<int, 3>());
  if (width == 768) return f(std::integral_constant<int, 6>());
  throw std::runtime_error("no product in FP8 of width " +
                           std::to_string(width));
}

}  // namespace

void RunUpProductFp8(const UpProductFp8& a, cudaStream_t s) {
  ProductMaps maps = {};
  maps.left = MapOf(a.x.values, a.rows, a.width);
  maps.right = MapOf(a.weight.values, a.hidden, a.width);
  ByChunks(a.width, [&](auto chunks) {
    RunProduct<Fp8Operands<false>, decltype(chunks)::value, UpEpilogue>(
        maps, a.rows, a.hidden, a, s);
  });
}

void RunDownGradientFp8(const DownGradientFp8& a, cudaStream_t s) {
  float* const partial = a.sums->Take(HopperPartialFloats(a.rows, a.hidden));
  ProductMaps maps = {};
  maps.left = MapOf(a.dy.values, a.rows, a.width);
  maps.right = MapOf(a.weight.values, a.hidden, a.width);
  ByChunks(a.width, [&](auto chunks) {
    RunProduct<Fp8Operands<true>, decltype(chunks)::value, GradientEpilogue>(
        maps, a.rows, a.hidden, {a, partial}, s);
  });
  a.sums->Add(partial, HopperPartialFloats(a.rows, a.hidden) / a.hidden,
              a.hidden, a.hidden, a.dbias, a.accumulate);
}

}  // namespace fused
}  // namespace feedrate
