// One product kernel, whose operands and epilogue are template parameters. For
// .cu files only.
//
// A block computes tiles of 128 x 128 along the columns, while its rows of the
// left matrix stay in shared memory if there is room. One warp loads what is
// multiplied, and two warp groups take turns: one multiplies while the other
// computes its epilogue.
//
// An epilogue is made of its Arguments and has a Memory in shared memory;
// Begin() is called before the sums of a tile, Run() with them, End() after the
// last tile.
#pragma once

#include <algorithm>

#include "lib/model/fused/hopper.cuh"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace products {

constexpr int kTileRows = 128;
constexpr int kTileColumns = 128;
// Inner values are loaded so many bytes at a time: one row of a tile.
constexpr int kChunkBytes = kTileRows * hopper::kTileRowBytes;
constexpr int kGroups = 2;
constexpr int kGroupThreads = 128;
constexpr int kGroupWarps = 4;
constexpr int kProductThreads = (kGroups + 1) * kGroupThreads;
// All blocks read the same chunks of the right matrix from the second cache at
// about the same time; two blocks that load for each other were slower, because
// each had to wait for the other.
// Columns that an epilogue takes at a time.
constexpr int kBoxColumns = 32;
constexpr int kParts = kTileColumns / kBoxColumns;

template <int kChunks, typename Epilogue>
struct ProductMemory {
  // Whether the left rows stay for all tiles of them.
  static constexpr bool kStays = kChunks <= 8;
  static constexpr int kLeft = kStays ? kChunks : 6;
  static constexpr int kRight = kChunks == 8 ? 4 : kChunks < 6 ? kChunks : 6;
  char left[kLeft][kChunkBytes];
  char right[kRight][kChunkBytes];
  typename Epilogue::Memory epilogue;
  uint64_t left_full[kLeft], left_empty[kLeft];
  uint64_t right_full[kRight], right_empty[kRight];
  // Which use of its place a chunk is, of a tile in rows number `segment`.
  __device__ static int LeftUse(int segment, int tile, int chunk) {
    return kStays ? segment : tile * (kChunks / kLeft) + chunk / kLeft;
  }
  __device__ static int RightUse(int tile, int chunk) {
    return tile * (kChunks / kRight) + chunk / kRight;
  }
  // The group may multiply: the other one has got all chunks of its tile.
  uint64_t turn[kGroups];
};

// What a kernel gets besides its epilogue's own pointers.
struct ProductMaps {
  CUtensorMap left, right;
  // What the epilogue writes, if by this.
  CUtensorMap out;
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

// What is multiplied. kTransposed: the right matrix is stored by rows of inner
// values, else by rows of its columns.
template <bool kTransposed_>
struct Bf16Operands {
  static constexpr bool kTransposed = kTransposed_;
  static constexpr int kInner = hopper::kTileRowBytes / sizeof(Bf16);
  __device__ static void Multiply(float (&c)[64], uint64_t a, uint64_t b,
                                  bool add) {
    hopper::Multiply64x128<kTransposed>(c, a, b, add);
  }
};
// kGradient: the left matrix is a gradient.
template <bool kGradient>
struct Fp8Operands {
  static constexpr bool kTransposed = false;
  static constexpr int kInner = hopper::kTileRowBytes;
  __device__ static void Multiply(float (&c)[64], uint64_t a, uint64_t b,
                                  bool add) {
    hopper::MultiplyFp8<kGradient>(c, a, b, add);
  }
};

// Loads both matrices. One thread.
template <typename Operands, int kChunks, typename Memory>
__device__ void LoadChunks(const ProductMaps& maps, const ProductSizes& z,
                           Memory* m) {
  constexpr int kInner = Operands::kInner;
  int before = -1;
  ForTiles(
      z, -1,
      [&](int tile, int segment, int row, int column, bool) {
        for (int chunk = 0; chunk < kChunks; ++chunk) {
          if (!Memory::kStays || segment != before) {
            const int place = chunk % Memory::kLeft;
            const int use = Memory::LeftUse(segment, tile, chunk);
            hopper::Wait(&m->left_empty[place], (use & 1) ^ 1);
            hopper::ArriveExpecting(&m->left_full[place], kChunkBytes);
            hopper::LoadTile(maps.left, m->left[place], &m->left_full[place],
                             chunk * kInner, row);
          }
          const int place = chunk % Memory::kRight;
          uint64_t* const full = &m->right_full[place];
          hopper::Wait(&m->right_empty[place],
                       (Memory::RightUse(tile, chunk) & 1) ^ 1);
          hopper::ArriveExpecting(full, kChunkBytes);
          char* const to = m->right[place];
          if (Operands::kTransposed) {
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

// Where a thread of a group has its values: rows `Row(i)`, i from 0 to 3,
// columns 8 j + 2 t and the next, j from 0 to 3 in each part of 32.
struct Lanes {
  __device__ Lanes()
      : warp(threadIdx.x / kWarp % kGroupWarps),
        g(threadIdx.x % kWarp >> 2),
        t(threadIdx.x & 3) {}
  __device__ int Row(int i) const {
    return (i >> 1) * 64 + warp * 16 + g + (i & 1) * 8;
  }
  int warp, g, t;
};

__device__ __forceinline__ void GroupSync(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kGroupThreads)
               : "memory");
}

// The sums of a tile's rows and columns: two halves of 64 rows.
using Tile = float[2][64];
// Value `k` (0 or 1) of columns 8 j + 2 t + k in row Row(i).
__device__ __forceinline__ float& ValueOf(Tile& tile, int i, int j, int k) {
  return tile[i >> 1][4 * j + (i & 1) * 2 + k];
}

// Slopes of GELU, which lie between -0.129 and 1.129, as bytes in steps of
// 0.005. Nobody but the kernels that have the same tiles reads them, so they
// lie in the order of the threads: two vectors for each part, the second one of
// the rows Row(2) and Row(3).
struct Slopes {
  static constexpr int kVectors = 2 * kParts;
  // Added to a value, it leaves the nearest whole number in the lowest bits.
  static constexpr float kWhole = 8388608;

  // The first vector of a thread; the others follow kGroupThreads apart.
  __device__ static int64_t Place(int64_t hidden, int row, int column) {
    const int64_t tile =
        row / kTileRows * (hidden / kTileColumns) + column / kTileColumns;
    return tile * kVectors * kGroupThreads + threadIdx.x % kGroupThreads;
  }
  __device__ static uint32_t Pack(float a, float b, float c, float d) {
    const auto code = [](float slope) {
      return __float_as_uint(fmaf(slope, 200, kWhole + 26));
    };
    return __byte_perm(__byte_perm(code(a), code(b), 0x0040),
                       __byte_perm(code(c), code(d), 0x0040), 0x5410);
  }
  // Number i of four.
  __device__ static float Unpack(uint32_t word, int i) {
    const float code =
        __uint_as_float(__byte_perm(word, 0x4b000000, 0x7440 | i));
    return fmaf(code - kWhole, 0.005f, -0.13f);
  }
};

__device__ __forceinline__ uint32_t Word(const uint4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

__device__ __forceinline__ bool IsFirstOfGroup() {
  return threadIdx.x % kGroupThreads == 0;
}
// Multiplies the tiles of a group and runs its epilogue.
template <typename Operands, int kChunks, typename Epilogue>
__device__ void Multiply(const ProductMaps& maps, const ProductSizes& z,
                         const typename Epilogue::Arguments& arguments,
                         int group, ProductMemory<kChunks, Epilogue>* m) {
  constexpr bool kTransposed = Operands::kTransposed;
  using Memory = ProductMemory<kChunks, Epilogue>;
  const bool elected = threadIdx.x % kWarp == 0;
  const auto arrive = [&](uint64_t* barrier) {
    if (elected) hopper::Arrive(barrier);
  };
  const hopper::Matrix left(m->left[0], 16, 1024);
  const hopper::Matrix right(m->right[0], kTransposed ? kChunkBytes / 2 : 16,
                             1024);
  constexpr int kRightStep = kTransposed ? 16 * hopper::kTileRowBytes : 32;
  Epilogue epilogue(arguments);
  int use = 0, before = -1;
  ForTiles(
      z, group,
      [&](int tile, int segment, int row, int column, bool last) {
        Tile sums;
        const auto wait_for = [&](int chunk) {
          if (!Memory::kStays || segment != before) {
            hopper::Wait(&m->left_full[chunk % Memory::kLeft],
                         Memory::LeftUse(segment, tile, chunk) & 1);
          }
          hopper::Wait(&m->right_full[chunk % Memory::kRight],
                       Memory::RightUse(tile, chunk) & 1);
        };
        const auto free_chunk = [&](int chunk) {
          arrive(&m->right_empty[chunk % Memory::kRight]);
          if (!Memory::kStays || last) {
            arrive(&m->left_empty[chunk % Memory::kLeft]);
          }
        };
        epilogue.Begin(maps, group, row, column, &m->epilogue);
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
            for (int k = 0; k < hopper::kTileRowBytes / 32; ++k) {
              Operands::Multiply(sums[half],
                                 left.At(chunk % Memory::kLeft * kChunkBytes +
                                         half * kChunkBytes / 2 + k * 32),
                                 right.At(chunk % Memory::kRight * kChunkBytes +
                                          k * kRightStep),
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
        epilogue.Run(maps, sums, group, row, column, &m->epilogue);
      },
      [&](int segment) {
        for (int chunk = 0; Memory::kStays && chunk < kChunks; ++chunk) {
          hopper::Wait(&m->left_full[chunk], segment & 1);
          arrive(&m->left_empty[chunk]);
        }
      });
  epilogue.End();
}

template <typename Operands, int kChunks, typename Epilogue>
__global__ void __launch_bounds__(kProductThreads, 1)
    ProductKernel(const __grid_constant__ ProductMaps maps,
                  const ProductSizes z,
                  const typename Epilogue::Arguments arguments) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  auto* const m = reinterpret_cast<ProductMemory<kChunks, Epilogue>*>(bytes);
  // The same for all lanes, which the compiler must know.
  const int role = __shfl_sync(~0u, threadIdx.x / kGroupThreads, 0);
  if (threadIdx.x == 0) {
    using Memory = ProductMemory<kChunks, Epilogue>;
    for (int i = 0; i < Memory::kLeft; ++i) {
      hopper::InitBarrier(&m->left_full[i], 1);
      hopper::InitBarrier(&m->left_empty[i],
                          (Memory::kStays ? kGroups : 1) * kGroupWarps);
    }
    for (int i = 0; i < Memory::kRight; ++i) {
      hopper::InitBarrier(&m->right_full[i], 1);
      hopper::InitBarrier(&m->right_empty[i], kGroupWarps);
    }
    for (int group = 0; group < kGroups; ++group) {
      hopper::InitBarrier(&m->turn[group], kGroupWarps);
    }
    hopper::FenceForEngines();
  }
  __syncthreads();
  if (role == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (IsFirstOfGroup()) LoadChunks<Operands, kChunks>(maps, z, m);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    Multiply<Operands>(maps, z, arguments, role, m);
  }
#endif
}

template <typename Operands, int kChunks, typename Epilogue>
void RunProduct(const ProductMaps& maps, int64_t rows, int64_t columns,
                const typename Epilogue::Arguments& arguments, cudaStream_t s) {
  constexpr int kBytes = sizeof(ProductMemory<kChunks, Epilogue>);
  static_assert(kBytes <= 227 << 10, "a block has no more");
  const auto kernel = ProductKernel<Operands, kChunks, Epilogue>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       kBytes);
  const ProductSizes sizes = {
      static_cast<int>((rows + kTileRows - 1) / kTileRows),
      static_cast<int>(columns / kTileColumns)};
  const int blocks =
      std::min(hopper::Processors(), sizes.row_tiles * sizes.column_tiles);
  kernel<<<blocks, kProductThreads, kBytes, s>>>(maps, sizes, arguments);
  Check("product");
}

}  // namespace products
}  // namespace fused
}  // namespace feedrate
