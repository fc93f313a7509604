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

// Eight halves or bf16 values.
__device__ __forceinline__ uint4 LoadEight(const void* p) {
  return __ldg(static_cast<const uint4*>(p));
}
__device__ __forceinline__ uint32_t Word(const uint4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

// GELU of sums + bias, and its slope.
struct UpEpilogue {
  using Arguments = UpProductFp8;
  struct Memory {
    __device__ void Init() {}
  };
  __device__ explicit UpEpilogue(const UpProductFp8& a)
      : factor(a.x.scale->inverse * a.weight.scale->inverse),
        bias(a.bias),
        slope(a.slope),
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
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const int channel = column + p * kBoxColumns;
      const uint4 add = LoadEight(bias + channel + 8 * lanes.t);
      float4 values[8];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value[8];
        uint32_t slopes[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint32_t raw = Word(add, j);
          const float2 b = __bfloat1622float2(
              *reinterpret_cast<const __nv_bfloat162*>(&raw));
          const Gelu low(fmaf(ValueOf(tile, i, p * 4 + j, 0), factor, b.x));
          const Gelu high(fmaf(ValueOf(tile, i, p * 4 + j, 1), factor, b.y));
          value[2 * j] = low.value;
          value[2 * j + 1] = high.value;
          slopes[j] = PackHalves(low.slope, high.slope);
        }
        const int64_t at = row + lanes.Row(i);
        const bool inside = kWhole || at < part.rows;
        if (inside) {
          *reinterpret_cast<uint4*>(slope + at * part.width + channel +
                                    8 * lanes.t) =
              make_uint4(slopes[0], slopes[1], slopes[2], slopes[3]);
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) value[k] = inside ? value[k] : 0;
        values[2 * i] = make_float4(value[0], value[1], value[2], value[3]);
        values[2 * i + 1] = make_float4(value[4], value[5], value[6], value[7]);
      }
      part.Write<kWhole>(values, &rounding, lanes, row, channel);
    }
  }

  float factor;
  const Bf16* bias;
  __half* slope;
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
    __device__ void Init() {}
    // By turns.
    float sums[kGroups][2][kGroupWarps][kTileColumns];
  };
  __device__ explicit GradientEpilogue(const Arguments& a)
      : factor(a.job.dy.scale->inverse * a.job.weight.scale->inverse),
        slope(a.job.slope),
        partial(a.partial),
        part{a.job.gradient, a.job.rows, a.job.hidden,
             Fp8PaddedRows(a.job.rows)},
        rounding(a.job.gradient.scale) {}

  // Brings what Run reads nearer.
  __device__ void Begin(const ProductMaps& maps, int, int row, int column,
                        Memory*) {
    Load(0, row, column);
    if (!IsFirstOfGroup()) return;
    for (int p = 1; p < kParts; ++p) {
      hopper::PrefetchTile(maps.in, column + p * kBoxColumns, row);
    }
  }
  __device__ __forceinline__ void Load(int p, int row, int column) {
    const Lanes lanes;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Beyond the rows, sums are zero, whatever the slope is.
      const int64_t at =
          min(static_cast<int64_t>(row) + lanes.Row(i), part.rows - 1);
      next[i] = LoadEight(slope + at * part.width + column + p * kBoxColumns +
                          8 * lanes.t);
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
      uint4 slopes[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) slopes[i] = next[i];
      if (p + 1 < kParts) Load(p + 1, row, column);
      float4 values[8];
      float sums[8] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value[8];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint32_t raw = Word(slopes[i], j);
          const float2 s =
              __half22float2(*reinterpret_cast<const __half2*>(&raw));
          value[2 * j] = ValueOf(tile, i, p * 4 + j, 0) * factor * s.x;
          value[2 * j + 1] = ValueOf(tile, i, p * 4 + j, 1) * factor * s.y;
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
  const __half* slope;
  float* partial;
  Fp8Part part;
  Fp8Rounding<true> rounding;
  uint4 next[4];
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
  maps.in =
      hopper::MapOf(a.slope, {a.hidden, a.rows}, {kBoxColumns, kTileRows});
  ByChunks(a.width, [&](auto chunks) {
    RunProduct<Fp8Operands<true>, decltype(chunks)::value, GradientEpilogue>(
        maps, a.rows, a.hidden, {a, partial}, s);
  });
  a.sums->Add(partial, HopperPartialFloats(a.rows, a.hidden) / a.hidden,
              a.hidden, a.hidden, a.dbias, a.accumulate);
}

}  // namespace fused
}  // namespace feedrate
