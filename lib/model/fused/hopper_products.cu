// One product kernel, whose epilogue is a template parameter.
//
// A block computes tiles of 128 x 128 along the columns, while its rows of the
// left matrix stay in shared memory. One warp loads what is multiplied, and two
// warp groups take turns: one multiplies while the other computes its epilogue.
// What an epilogue reads and writes goes through two boxes of 128 x 32 values
// per group.
#include <algorithm>

#include "lib/model/fused/hopper.cuh"
#include "lib/model/fused/hopper_products.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace {

constexpr int kTileRows = 128;
constexpr int kTileColumns = 128;
// Inner values that are loaded at a time: one row of a tile.
constexpr int kInner = 64;
constexpr int kChunkBytes = kTileRows * kInner * sizeof(Bf16);
constexpr int kGroups = 2;
constexpr int kGroupThreads = 128;
constexpr int kGroupWarps = 4;
constexpr int kProductThreads = (kGroups + 1) * kGroupThreads;
// Chunks per row of the left matrix: a width of 384. There is room for as many
// of the right matrix, so a chunk always comes to the same place. All blocks
// read the same ones from the second cache at about the same time; two blocks
// that load for each other were slower, because each had to wait for the other.
constexpr int kChunks = 6;
constexpr int kBoxes = 2;
constexpr int kBoxColumns = 32;
constexpr int kBoxBytes = kTileRows * kBoxColumns * sizeof(Bf16);

struct ProductMemory {
  char left[kChunks][kChunkBytes];
  char right[kChunks][kChunkBytes];
  char box[kGroups][kBoxes][kBoxBytes];
  float sums[kGroups][2][kGroupWarps][kBoxColumns];
  uint64_t left_full[kChunks], left_empty[kChunks];
  uint64_t right_full[kChunks], right_empty[kChunks];
  // What the epilogue reads is in the box.
  uint64_t box_full[kGroups][kBoxes];
  // The group may multiply: the other one has got all chunks of its tile.
  uint64_t turn[kGroups];
};
constexpr int kProductBytes = sizeof(ProductMemory);
static_assert(kProductBytes <= 227 << 10, "a block has no more");

// What a kernel gets besides its epilogue's own pointers.
struct ProductMaps {
  CUtensorMap left, right;
  // What the epilogue reads, if it does, and writes.
  CUtensorMap in;
  CUtensorMap out[2];
};

struct ProductSizes {
  int row_tiles, column_tiles;
};

// The tiles of a block, which follow each other along columns, then rows.
struct Share {
  __device__ explicit Share(const ProductSizes& z) {
    const int64_t tiles = static_cast<int64_t>(z.row_tiles) * z.column_tiles;
    begin = tiles * blockIdx.x / gridDim.x;
    count = tiles * (blockIdx.x + 1) / gridDim.x - begin;
  }
  int begin, count;
};

// Calls f(tile, segment, row, column, last) for the tiles of `group`, or of
// both if it is negative: the number of the tile in the share, of its rows, the
// place of its first value, and whether it is the last of its group in those
// rows. Calls skip(segment) for rows in which the group has no tile.
template <typename F, typename Skip>
__device__ __forceinline__ void ForTiles(const ProductSizes& z, int group, F f,
                                         Skip skip) {
  const Share share(z);
  int first = 0;
  for (int segment = 0; first < share.count; ++segment) {
    const int at = share.begin + first;
    const int column0 = at % z.column_tiles;
    const int count = min(z.column_tiles - column0, share.count - first);
    const int row = at / z.column_tiles * kTileRows;
    const int step = group < 0 ? 1 : kGroups;
    int i = group < 0 ? 0 : (first + group) & 1;
    if (i >= count) skip(segment);
    for (; i < count; i += step) {
      f(first + i, segment, row, (column0 + i) * kTileColumns,
        i + step >= count);
    }
    first += count;
  }
}
struct Ignore {
  __device__ void operator()(int) const {}
};

// Loads both matrices. One thread.
template <bool kTransposed>
__device__ void LoadChunks(const ProductMaps& maps, const ProductSizes& z,
                           ProductMemory* m) {
  int before = -1;
  ForTiles(
      z, -1,
      [&](int tile, int segment, int row, int column, bool) {
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (segment != before) {
            hopper::Wait(&m->left_empty[chunk], (segment & 1) ^ 1);
            hopper::ArriveExpecting(&m->left_full[chunk], kChunkBytes);
            hopper::LoadTile(maps.left, m->left[chunk], &m->left_full[chunk],
                             chunk * kInner, row);
          }
          uint64_t* const full = &m->right_full[chunk];
          hopper::Wait(&m->right_empty[chunk], (tile & 1) ^ 1);
          hopper::ArriveExpecting(full, kChunkBytes);
          char* const to = m->right[chunk];
          if (kTransposed) {
            for (int half = 0; half < 2; ++half) {
              hopper::LoadTile(maps.right, to + half * kChunkBytes / 2, full,
                               column + half * kTileColumns / 2,
                               chunk * kInner);
            }
          } else {
            hopper::LoadTile(maps.right, to, full, chunk * kInner, column);
          }
        }
        before = segment;
      },
      Ignore());
}

// Where a thread of a group finds its values of a box: rows `Row(i)`, i from 0
// to 3, columns 8 j + 2 t and the next, j from 0 to 3. A box has rows of 64
// bytes, whose four groups of 16 lie at place j ^ (row / 2 % 4).
struct BoxLanes {
  __device__ BoxLanes()
      : warp(threadIdx.x / kWarp % kGroupWarps),
        g(threadIdx.x % kWarp >> 2),
        t(threadIdx.x & 3) {}
  __device__ int Row(int i) const {
    return (i >> 1) * 64 + warp * 16 + g + (i & 1) * 8;
  }
  __device__ uint32_t* At(char* box, int i, int j) const {
    return reinterpret_cast<uint32_t*>(box +
                                       Row(i) * kBoxColumns * sizeof(Bf16) +
                                       ((j ^ (g >> 1)) << 4) + 4 * t);
  }
  int warp, g, t;
};

__device__ __forceinline__ void GroupSync(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kGroupThreads)
               : "memory");
}

__device__ __forceinline__ uint32_t PackPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ float2 UnpackPair(uint32_t raw) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&raw));
}
// Slopes are between -0.2 and 1.2: halves are eight times as exact as bf16.
__device__ __forceinline__ uint32_t PackHalves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ float2 UnpackHalves(uint32_t raw) {
  return __half22float2(*reinterpret_cast<const __half2*>(&raw));
}

// The sums of a tile's rows and columns: two halves of 64 rows.
using Tile = float[2][64];
// Value `k` (0 or 1) of columns 8 j + 2 t + k in row Row(i).
__device__ __forceinline__ float& ValueOf(Tile& tile, int i, int j, int k) {
  return tile[i >> 1][4 * j + (i & 1) * 2 + k];
}

__device__ __forceinline__ bool IsFirstOfGroup() {
  return threadIdx.x % kGroupThreads == 0;
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

// GELU of sums + bias, and its slope.
struct UpEpilogue {
  const Bf16* bias;

  __device__ void Begin(const ProductMaps&, int, int, int,
                        ProductMemory*) const {}
  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, ProductMemory* m) const {
    const BoxLanes lanes;
#pragma unroll
    for (int part = 0; part < kTileColumns / kBoxColumns; ++part) {
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
  static constexpr int kParts = kTileColumns / kBoxColumns;

  // One row of sums per tile of rows.
  float* partial;
  int columns;

  // Starts to load the first boxes, and brings the others nearer.
  __device__ void Begin(const ProductMaps& maps, int group, int row, int column,
                        ProductMemory* m) const {
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
                              int row, int column, ProductMemory* m) {
    const int box = part % kBoxes;
    hopper::ArriveExpecting(&m->box_full[group][box], kBoxBytes);
    hopper::LoadTile(maps.in, m->box[group][box], &m->box_full[group][box],
                     column + part * kBoxColumns, row);
  }

  __device__ void Run(const ProductMaps& maps, Tile& tile, int group, int row,
                      int column, ProductMemory* m) const {
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
                           ProductMemory* m) const {
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

// Multiplies the tiles of a group and runs its epilogue.
template <bool kTransposed, typename Epilogue>
__device__ void Multiply(const ProductMaps& maps, const ProductSizes& z,
                         const Epilogue& epilogue, int group,
                         ProductMemory* m) {
  const bool elected = threadIdx.x % kWarp == 0;
  const auto arrive = [&](uint64_t* barrier) {
    if (elected) hopper::Arrive(barrier);
  };
  const hopper::Matrix left(m->left[0], 16, 1024);
  const hopper::Matrix right(m->right[0], kTransposed ? kChunkBytes / 2 : 16,
                             1024);
  constexpr int kRightStep = kTransposed ? 16 * hopper::kTileRowBytes : 32;
  int use = 0, before = -1;
  ForTiles(
      z, group,
      [&](int tile, int segment, int row, int column, bool last) {
        Tile sums;
        const auto wait_for = [&](int chunk) {
          if (segment != before) {
            hopper::Wait(&m->left_full[chunk], segment & 1);
          }
          hopper::Wait(&m->right_full[chunk], tile & 1);
        };
        const auto free_chunk = [&](int chunk) {
          arrive(&m->right_empty[chunk]);
          if (last) arrive(&m->left_empty[chunk]);
        };
        epilogue.Begin(maps, group, row, column, m);
        // A parity tells a phase from the one before and after it only, so
        // groups must wait for chunks in their order.
        hopper::Wait(&m->turn[group], (use & 1) ^ (group == 0));
        wait_for(0);
#pragma unroll
        for (int chunk = 0; chunk < kChunks; ++chunk) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            hopper::BeginProducts();
#pragma unroll
            for (int k = 0; k < kInner / 16; ++k) {
              hopper::Multiply64x128<kTransposed>(
                  sums[half],
                  left.At(chunk * kChunkBytes + half * kChunkBytes / 2 +
                          k * 32),
                  right.At(chunk * kChunkBytes + k * kRightStep),
                  chunk > 0 || k > 0);
            }
            hopper::EndProducts();
            // While the tensor cores are busy with the first half.
            if (half == 0) {
              hopper::WaitForProducts<1>();
              if (chunk > 0) free_chunk(chunk - 1);
              if (chunk + 1 < kChunks) wait_for(chunk + 1);
            }
          }
        }
        arrive(&m->turn[group ^ 1]);
        hopper::WaitForProducts<0>();
        free_chunk(kChunks - 1);
        ++use;
        before = segment;
        epilogue.Run(maps, sums, group, row, column, m);
      },
      [&](int segment) {
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          hopper::Wait(&m->left_full[chunk], segment & 1);
          arrive(&m->left_empty[chunk]);
        }
      });
  // Shared memory must stay until it was read.
  if (IsFirstOfGroup()) hopper::WaitUntilSaved<0>();
}

template <bool kTransposed, typename Epilogue>
__global__ void __launch_bounds__(kProductThreads, 1)
    ProductKernel(const __grid_constant__ ProductMaps maps,
                  const ProductSizes z, const Epilogue epilogue) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  ProductMemory* const m = reinterpret_cast<ProductMemory*>(bytes);
  // The same for all lanes, which the compiler must know.
  const int role = __shfl_sync(~0u, threadIdx.x / kGroupThreads, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kChunks; ++i) {
      hopper::InitBarrier(&m->left_full[i], 1);
      hopper::InitBarrier(&m->left_empty[i], kGroups * kGroupWarps);
      hopper::InitBarrier(&m->right_full[i], 1);
      hopper::InitBarrier(&m->right_empty[i], kGroupWarps);
    }
    for (int group = 0; group < kGroups; ++group) {
      hopper::InitBarrier(&m->turn[group], kGroupWarps);
      for (int box = 0; box < kBoxes; ++box) {
        hopper::InitBarrier(&m->box_full[group][box], 1);
      }
    }
    hopper::FenceForEngines();
  }
  __syncthreads();
  if (role == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (IsFirstOfGroup()) LoadChunks<kTransposed>(maps, z, m);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Multiply<kTransposed>(maps, z, epilogue, role, m);
  }
#endif
}

CUtensorMap MapOf(const void* matrix, int64_t rows, int64_t columns,
                  int tile_rows, int tile_columns) {
  return hopper::MapOf(matrix, {columns, rows}, {tile_columns, tile_rows});
}

template <bool kTransposed, typename Epilogue>
void RunProduct(const ProductMaps& maps, int64_t rows, int64_t columns,
                const Epilogue& epilogue, cudaStream_t s) {
  const auto kernel = ProductKernel<kTransposed, Epilogue>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kProductBytes);
  const ProductSizes sizes = {
      static_cast<int>((rows + kTileRows - 1) / kTileRows),
      static_cast<int>(columns / kTileColumns)};
  const int blocks =
      std::min(hopper::Processors(), sizes.row_tiles * sizes.column_tiles);
  kernel<<<blocks, kProductThreads, kProductBytes, s>>>(maps, sizes, epilogue);
  Check("product");
}

}  // namespace

bool HasHopperProducts(int64_t width, int64_t hidden) {
  return hopper::IsDevice() && width == kChunks * kInner &&
         hidden % kTileColumns == 0;
}

void RunUpProduct(const UpProduct& a, cudaStream_t s) {
  ProductMaps maps;
  maps.left = MapOf(a.x, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.hidden, a.width, kTileColumns, kInner);
  maps.out[0] = MapOf(a.activated, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.out[1] = MapOf(a.slope, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.in = maps.out[0];
  RunProduct<false>(maps, a.rows, a.hidden, UpEpilogue{a.bias}, s);
}

int64_t HopperPartialFloats(int64_t rows, int64_t hidden) {
  return (rows + kTileRows - 1) / kTileRows * hidden;
}

void RunDownGradient(const DownGradient& a, cudaStream_t s) {
  ProductMaps maps;
  maps.left = MapOf(a.dy, a.rows, a.width, kTileRows, kInner);
  maps.right = MapOf(a.weight, a.width, a.hidden, kInner, kTileColumns / 2);
  maps.in = MapOf(a.slope, a.rows, a.hidden, kTileRows, kBoxColumns);
  maps.out[0] = maps.out[1] =
      MapOf(a.gradient, a.rows, a.hidden, kTileRows, kBoxColumns);
  RunProduct<true>(maps, a.rows, a.hidden,
                   GradientEpilogue{a.partial, static_cast<int>(a.hidden)}, s);
  ReduceRows(a.partial, HopperPartialFloats(a.rows, a.hidden) / a.hidden,
             a.hidden, a.hidden, a.dbias, a.accumulate, s);
}

}  // namespace fused
}  // namespace feedrate
