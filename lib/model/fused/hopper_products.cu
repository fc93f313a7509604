#include "lib/model/fused/hopper_products.cuh"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {
namespace fused {
namespace {

using namespace products;  // NOLINT

constexpr int kInner = Bf16Operands<false>::kInner;
constexpr int kBoxes = 2;
constexpr int kBoxBytes = kTileRows * kBoxColumns * sizeof(Bf16);

// What an epilogue writes goes through two boxes of 128 x 32 values per group.
struct BoxMemory {
  char box[kGroups][kBoxes][kBoxBytes];
  float sums[kGroups][2][kGroupWarps][kBoxColumns];
};

// A box has rows of 64 bytes, whose four groups of 16 lie at place j ^ (row / 2
// % 4).
struct BoxLanes : Lanes {
  __device__ uint32_t* At(char* box, int i, int j) const {
    return reinterpret_cast<uint32_t*>(box +
                                       Row(i) * kBoxColumns * sizeof(Bf16) +
                                       ((j ^ (g >> 1)) << 4) + 4 * t);
  }
};

__device__ __forceinline__ uint32_t PackPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ float2 UnpackPair(uint32_t raw) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&raw));
}
// Waits until the box before the last one has been saved.
__device__ __forceinline__ void OpenBox(int group) {
  if (IsFirstOfGroup()) hopper::WaitUntilSaved<kBoxes - 1>();
  GroupSync(group);
}
// Saves what all threads of the group have written.
__device__ __forceinline__ void CloseBox(const CUtensorMap& to, const char* box,
                                         int group, int column, int row) {
  hopper::FenceForEngines();
  GroupSync(group);
  if (IsFirstOfGroup()) hopper::SaveTile(to, box, column, row);
}

// Shared memory must stay until it was read.
__device__ __forceinline__ void FinishBoxes() {
  if (IsFirstOfGroup()) hopper::WaitUntilSaved<0>();
}

// GELU of sums + bias, and its slope.
struct UpEpilogue {
  using Memory = BoxMemory;
  using Arguments = UpEpilogue;
  const Bf16* bias;
  uint4* slopes;
  int64_t hidden;

  __device__ void Begin(const ProductMaps&, int, int, int, Memory*) const {}
  __device__ void End() const { FinishBoxes(); }
  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, Memory* m) const {
    const BoxLanes lanes;
    uint4* const to = slopes + Slopes::Place(hidden, row, column);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int at = column + part * kBoxColumns;
      // Computed before they wait for the box.
      uint32_t activated[4][4], slope[8];
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        const auto bias_of = [&](int j) {
          return UnpackPair(__ldg(reinterpret_cast<const uint32_t*>(
              bias + at + 8 * j + 2 * lanes.t)));
        };
        const float2 b = bias_of(j), c = bias_of(j + 1);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto gelu = [&](int j, int k, float add) {
            return Gelu(ValueOf(tile, i, part * 4 + j, k) + add);
          };
          const Gelu g0 = gelu(j, 0, b.x), g1 = gelu(j, 1, b.y);
          const Gelu g2 = gelu(j + 1, 0, c.x), g3 = gelu(j + 1, 1, c.y);
          activated[j][i] = PackPair(g0.value, g1.value);
          activated[j + 1][i] = PackPair(g2.value, g3.value);
          slope[2 * i + j / 2] =
              Slopes::Pack(g0.slope, g1.slope, g2.slope, g3.slope);
        }
      }
      for (int h = 0; h < 2; ++h) {
        to[(2 * part + h) * kGroupThreads] = make_uint4(
            slope[4 * h], slope[4 * h + 1], slope[4 * h + 2], slope[4 * h + 3]);
      }
      char* const box = m->box[group][part % kBoxes];
      OpenBox(group);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) *lanes.At(box, i, j) = activated[j][i];
      }
      CloseBox(maps.out, box, group, at, row);
    }
  }
};

// gradient = sums times slopes, and the sums of its columns.
struct GradientEpilogue {
  using Memory = BoxMemory;
  struct Arguments {
    const uint4* slopes;
    // One row of sums per tile of rows.
    float* partial;
    int64_t hidden;
  };
  __device__ explicit GradientEpilogue(const Arguments& a) : a(a) {}
  Arguments a;
  uint4 slopes[Slopes::kVectors];

  __device__ void End() const { FinishBoxes(); }
  // Loads slopes while the tensor cores work.
  __device__ void Begin(const ProductMaps&, int, int row, int column, Memory*) {
    const uint4* const from = a.slopes + Slopes::Place(a.hidden, row, column);
#pragma unroll
    for (int i = 0; i < Slopes::kVectors; ++i) {
      slopes[i] = __ldg(from + i * kGroupThreads);
    }
  }

  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, Memory* m) const {
    const BoxLanes lanes;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      char* const box = m->box[group][part % kBoxes];
      uint32_t gradient[4][4];
      float sums[8];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sums[2 * j] = sums[2 * j + 1] = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint32_t word =
              Word(slopes[2 * part + i / 2], i % 2 * 2 + j / 2);
          const float g0 = ValueOf(tile, i, part * 4 + j, 0) *
                           Slopes::Unpack(word, j % 2 * 2);
          const float g1 = ValueOf(tile, i, part * 4 + j, 1) *
                           Slopes::Unpack(word, j % 2 * 2 + 1);
          gradient[j][i] = PackPair(g0, g1);
          sums[2 * j] += g0;
          sums[2 * j + 1] += g1;
        }
      }
      OpenBox(group);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) *lanes.At(box, i, j) = gradient[j][i];
      }
      CloseBox(maps.out, box, group, column + part * kBoxColumns, row);
      if (part > 0) SaveSums(group, part - 1, row, column, m);
      KeepSums(sums, lanes, m->sums[group][part % 2][lanes.warp]);
    }
    GroupSync(group);
    SaveSums(group, kParts - 1, row, column, m);
  }

  // What all warps kept of a part.
  __device__ void SaveSums(int group, int part, int row, int column,
                           Memory* m) const {
    const int thread = threadIdx.x % kGroupThreads;
    if (thread >= kBoxColumns) return;
    float sum = 0;
    for (int w = 0; w < kGroupWarps; ++w) {
      sum += m->sums[group][part % 2][w][thread];
    }
    a.partial[row / kTileRows * a.hidden + column + part * kBoxColumns +
              thread] = sum;
  }

  // Adds the sums of the eight lanes that have the same columns.
  __device__ static void KeepSums(float (&sums)[8], const BoxLanes& lanes,
                                  float* to) {
    HalveSums<4, 16>(sums);
    HalveSums<2, 8>(sums);
    HalveSums<1, 4>(sums);
    // Bits 16, 8 and 4 of the lane picked sums 4, 2 and 1 of the 8.
    const int lane = threadIdx.x % kWarp;
    const int j = (lane >> 4 & 1) * 2 + (lane >> 3 & 1);
    to[8 * j + 2 * lanes.t + (lane >> 2 & 1)] = sums[0];
  }
};

// Norms Q and K within each head, which is half a tile, and rotates them.
struct QkvEpilogue {
  using Memory = BoxMemory;
  using Arguments = QkvEpilogue;
  QkNormRope rope;
  float* rstds;

  __device__ void Begin(const ProductMaps&, int, int, int, Memory*) const {}
  __device__ void End() const { FinishBoxes(); }
  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, Memory* m) const {
    const BoxLanes lanes;
    const int heads = rope.heads, width = heads * kHead;
    if (column < 2 * width) {
      NormRotate(tile, row, column / kHead,
                 column < width ? rope.q_weight : rope.k_weight, lanes);
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      char* const box = m->box[group][part % kBoxes];
      OpenBox(group);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          *lanes.At(box, i, j) = PackPair(ValueOf(tile, i, part * 4 + j, 0),
                                          ValueOf(tile, i, part * 4 + j, 1));
        }
      }
      CloseBox(maps.out, box, group, column + part * kBoxColumns, row);
    }
  }

  // The heads number `head`, counted through Q and K, and the next one.
  __device__ void NormRotate(Tile& tile, int row, int head, const float* weight,
                             const BoxLanes& lanes) const {
    constexpr int kHalfVectors = kHalf / 8;
    float rstd[2][4];
    int token[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = row + lanes.Row(i);
      token[i] = at % static_cast<int>(rope.tokens);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float squares = 0;
#pragma unroll
        for (int j = 0; j < 2 * kHalfVectors; ++j) {
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            const float x = ValueOf(tile, i, h * 2 * kHalfVectors + j, k);
            squares += x * x;
          }
        }
        squares += __shfl_xor_sync(~0u, squares, 1);
        squares += __shfl_xor_sync(~0u, squares, 2);
        rstd[h][i] = rsqrtf(squares / kHead + kEpsilon);
        if (lanes.t == h && at < static_cast<int>(rope.rows)) {
          rstds[at * 2 * rope.heads + head + h] = rstd[h][i];
        }
      }
    }
    const auto pair = [](const float* p) {
      return __ldg(reinterpret_cast<const float2*>(p));
    };
#pragma unroll
    for (int j = 0; j < kHalfVectors; ++j) {
      const int c = 8 * j + 2 * lanes.t;
      const float2 w1 = pair(weight + c), w2 = pair(weight + kHalf + c);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 cos = pair(rope.cos + token[i] * kHead + c);
        const float2 sin = pair(rope.sin + token[i] * kHead + c);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int first = h * 2 * kHalfVectors + j;
          Rotate(tile, i, first, 0, rstd[h][i], w1.x, w2.x, cos.x, sin.x);
          Rotate(tile, i, first, 1, rstd[h][i], w1.y, w2.y, cos.y, sin.y);
        }
      }
    }
  }

  __device__ static void Rotate(Tile& tile, int i, int j, int k, float rstd,
                                float w1, float w2, float cos, float sin) {
    float& x1 = ValueOf(tile, i, j, k);
    float& x2 = ValueOf(tile, i, j + kHalf / 8, k);
    const float n1 = x1 * rstd * NotZero(w1), n2 = x2 * rstd * NotZero(w2);
    x1 = n1 * cos - n2 * sin;
    x2 = n2 * cos + n1 * sin;
  }
};

CUtensorMap MapOf(const void* matrix, int64_t rows, int64_t columns,
                  int tile_rows, int tile_columns) {
  return hopper::MapOf(matrix, {columns, rows}, {tile_columns, tile_rows});
}

// Calls f with the chunks of a width as a constant, or returns false.
template <typename F>
bool ByChunks(int64_t width, F f) {
  if (width == 384) {
    f(std::integral_constant<int, 6>());
  } else if (width == 512) {
    f(std::integral_constant<int, 8>());
  } else if (width == 768) {
    f(std::integral_constant<int, 12>());
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool HasHopperProducts(int64_t width, int64_t hidden) {
  return hopper::IsDevice() && ByChunks(width, [](auto) {}) &&
         hidden % kTileColumns == 0;
}

int64_t SlopeBytes(int64_t rows, int64_t hidden) {
  return (rows + kTileRows - 1) / kTileRows * kTileRows * hidden;
}

void RunUpProduct(const UpProduct& a, cudaStream_t s) {
  ProductMaps maps = {};
  maps.left = MapOf(a.x, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.hidden, a.width, kTileColumns, kInner);
  maps.out = MapOf(a.activated, a.rows, a.hidden, kTileRows, kBoxColumns);
  ByChunks(a.width, [&](auto chunks) {
    RunProduct<Bf16Operands<false>, decltype(chunks)::value, UpEpilogue>(
        maps, a.rows, a.hidden,
        {a.bias, reinterpret_cast<uint4*>(a.slope), a.hidden}, s);
  });
}

void RunQkvProduct(const QkvProduct& a, cudaStream_t s) {
  const int64_t rows = a.rope.rows, width = a.rope.heads * kHead;
  ProductMaps maps = {};
  maps.left = MapOf(a.x, rows, width, kTileRows, kInner);
  maps.right = MapOf(a.weight, 3 * width, width, kTileColumns, kInner);
  maps.out = MapOf(a.qkv, rows, 3 * width, kTileRows, kBoxColumns);
  ByChunks(width, [&](auto chunks) {
    RunProduct<Bf16Operands<false>, decltype(chunks)::value, QkvEpilogue>(
        maps, rows, 3 * width, {a.rope, a.rstd}, s);
  });
}

int64_t HopperPartialFloats(int64_t rows, int64_t hidden) {
  return (rows + kTileRows - 1) / kTileRows * hidden;
}

void RunDownGradient(const DownGradient& a, cudaStream_t s) {
  float* const partial = a.sums->Take(HopperPartialFloats(a.rows, a.hidden));
  ProductMaps maps = {};
  maps.left = MapOf(a.dy, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.width, a.hidden, kInner, kTileColumns / 2);
  maps.out = MapOf(a.gradient, a.rows, a.hidden, kTileRows, kBoxColumns);
  ByChunks(a.width, [&](auto chunks) {
    RunProduct<Bf16Operands<true>, decltype(chunks)::value, GradientEpilogue>(
        maps, a.rows, a.hidden,
        {reinterpret_cast<const uint4*>(a.slope), partial, a.hidden}, s);
  });
  a.sums->Add(partial, HopperPartialFloats(a.rows, a.hidden) / a.hidden,
              a.hidden, a.hidden, a.dbias, a.accumulate);
}

}  // namespace fused
}  // namespace feedrate
