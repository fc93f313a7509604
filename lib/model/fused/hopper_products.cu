#include "lib/model/fused/hopper_products.cuh"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {
namespace fused {
namespace {

using namespace products;  // NOLINT

constexpr int kInner = Bf16Operands<false>::kInner;
constexpr int64_t kWidth = kMostChunks * kInner;
constexpr int kBoxes = 2;
constexpr int kBoxBytes = kTileRows * kBoxColumns * sizeof(Bf16);

// What an epilogue reads and writes goes through two boxes of 128 x 32 values
// per group.
struct BoxMemory {
  __device__ void Init() {
    for (auto& group : box_full) {
      for (uint64_t& full : group) hopper::InitBarrier(&full, 1);
    }
  }
  char box[kGroups][kBoxes][kBoxBytes];
  float sums[kGroups][2][kGroupWarps][kBoxColumns];
  // What the epilogue reads is in the box.
  uint64_t box_full[kGroups][kBoxes];
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

  __device__ void Begin(const ProductMaps&, int, int, int, Memory*) const {}
  __device__ void End() const { FinishBoxes(); }
  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, Memory* m) const {
    const BoxLanes lanes;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int at = column + part * kBoxColumns;
      // Computed before they wait for the box.
      uint32_t activated[4][4], slope[4][4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 b = UnpackPair(__ldg(reinterpret_cast<const uint32_t*>(
            bias + at + 8 * j + 2 * lanes.t)));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const Gelu low(ValueOf(tile, i, part * 4 + j, 0) + b.x);
          const Gelu high(ValueOf(tile, i, part * 4 + j, 1) + b.y);
          activated[j][i] = PackPair(low.value, high.value);
          slope[j][i] = PackHalves(low.slope, high.slope);
        }
      }
      Write(activated, lanes, maps.out[0], m->box[group][0], group, at, row);
      Write(slope, lanes, maps.out[1], m->box[group][1], group, at, row);
    }
  }

  __device__ static void Write(const uint32_t (&values)[4][4],
                               const BoxLanes& lanes, const CUtensorMap& to,
                               char* box, int group, int column, int row) {
    OpenBox(group);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) *lanes.At(box, i, j) = values[j][i];
    }
    CloseBox(to, box, group, column, row);
  }
};

// gradient = sums times slopes, and the sums of its columns.
struct GradientEpilogue {
  using Memory = BoxMemory;
  using Arguments = GradientEpilogue;
  // One row of sums per tile of rows.
  float* partial;
  int columns;

  __device__ void End() const { FinishBoxes(); }
  // Starts to load the first boxes, and brings the others nearer.
  __device__ void Begin(const ProductMaps& maps, int group, int row, int column,
                        Memory* m) const {
    if (!IsFirstOfGroup()) return;
    hopper::WaitUntilSaved<0>();
    for (int part = 0; part < kParts; ++part) {
      if (part < kBoxes) {
        Load(maps, group, part, row, column, m);
      } else {
        hopper::PrefetchTile(maps.in, column + part * kBoxColumns, row);
      }
    }
  }
  __device__ static void Load(const ProductMaps& maps, int group, int part,
                              int row, int column, Memory* m) {
    const int box = part % kBoxes;
    hopper::ArriveExpecting(&m->box_full[group][box], kBoxBytes);
    hopper::LoadTile(maps.in, m->box[group][box], &m->box_full[group][box],
                     column + part * kBoxColumns, row);
  }

  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, Memory* m) const {
    const BoxLanes lanes;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      char* const box = m->box[group][part % kBoxes];
      if (part > 0 && part + 1 < kParts && IsFirstOfGroup()) {
        hopper::WaitUntilSaved<0>();
        Load(maps, group, part + 1, row, column, m);
      }
      // Each box is filled an even number of times per tile.
      hopper::Wait(&m->box_full[group][part % kBoxes], part / kBoxes & 1);
      float sums[8];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sums[2 * j] = sums[2 * j + 1] = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          uint32_t* const at = lanes.At(box, i, j);
          const float2 slope = UnpackHalves(*at);
          const float g0 = ValueOf(tile, i, part * 4 + j, 0) * slope.x;
          const float g1 = ValueOf(tile, i, part * 4 + j, 1) * slope.y;
          *at = PackPair(g0, g1);
          sums[2 * j] += g0;
          sums[2 * j + 1] += g1;
        }
      }
      CloseBox(maps.out[0], box, group, column + part * kBoxColumns, row);
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
    partial[static_cast<int64_t>(row / kTileRows) * columns + column +
            part * kBoxColumns + thread] = sum;
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

CUtensorMap MapOf(const void* matrix, int64_t rows, int64_t columns,
                  int tile_rows, int tile_columns) {
  return hopper::MapOf(matrix, {columns, rows}, {tile_columns, tile_rows});
}

}  // namespace

bool HasHopperProducts(int64_t width, int64_t hidden) {
  return hopper::IsDevice() && width == kWidth && hidden % kTileColumns == 0;
}

void RunUpProduct(const UpProduct& a, cudaStream_t s) {
  ProductMaps maps;
  maps.left = MapOf(a.x, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.hidden, a.width, kTileColumns, kInner);
  maps.out[0] = MapOf(a.activated, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.out[1] = MapOf(a.slope, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.in = maps.out[0];
  RunProduct<Bf16Operands<false>, kMostChunks, UpEpilogue>(
      maps, a.rows, a.hidden, {a.bias}, s);
}

int64_t HopperPartialFloats(int64_t rows, int64_t hidden) {
  return (rows + kTileRows - 1) / kTileRows * hidden;
}

void RunDownGradient(const DownGradient& a, cudaStream_t s) {
  float* const partial = a.sums->Take(HopperPartialFloats(a.rows, a.hidden));
  ProductMaps maps;
  maps.left = MapOf(a.dy, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.width, a.hidden, kInner, kTileColumns / 2);
  maps.in = MapOf(a.slope, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.out[0] = maps.out[1] =
      MapOf(a.gradient, a.rows, a.hidden, kTileRows, kBoxColumns);
  RunProduct<Bf16Operands<true>, kMostChunks, GradientEpilogue>(
      maps, a.rows, a.hidden, {partial, static_cast<int>(a.hidden)}, s);
  a.sums->Add(partial, HopperPartialFloats(a.rows, a.hidden) / a.hidden,
              a.hidden, a.hidden, a.dbias, a.accumulate);
}

}  // namespace fused
}  // namespace feedrate
