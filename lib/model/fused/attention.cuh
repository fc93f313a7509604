// What attention and its backward pass share: a head in shared memory, and how
// lanes load, multiply and store its tiles. For these files only.
#pragma once

#include <cstdint>

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {

// A block computes one head of one sample. Its matrices of tokens x 64 lie in
// shared memory, so that scores and probabilities never leave the registers or
// the block. Products are m16n8k16 of the tensor cores: a tile is 16 rows.
constexpr int kRows = kShortTokens;
constexpr int kTile = 16;
constexpr int kTiles = kRows / kTile;
constexpr int kMatrix = kRows * kHead;
constexpr float kScale = 0.125f;
// Scores are taken to the power of two.
constexpr float kScale2 = kScale * 1.44269504f;

using Fragment = uint32_t[4];

// A matrix of 64 columns has rows of 128 bytes, eight groups of 16. The group
// `g` of row `r` lies at place g ^ (r % 8), so that one group of eight rows
// lies in different banks. Offsets below are in bytes; a tile or a group
// further on is a constant added or xored to an offset that a lane computes
// once.
constexpr int kRowBytes = kHead * sizeof(Bf16);
constexpr int kTileBytes = kTile * kRowBytes;

// Where a lane finds its part of a tile.
struct Lanes {
  // Computed here, where it is asked for: values kept from earlier would take
  // registers from the sums.
  __device__ static int Lane() {
    int lane = threadIdx.x % kWarp;
    asm volatile("" : "+r"(lane));
    return lane;
  }

  int lane = Lane();
  // Row and pair of columns of a lane's values in a result.
  int g = lane >> 2;
  int t = lane & 3;
  // Rows that the lane names to ldmatrix: for a left matrix that is stored as
  // it is and, transposed while loading, for a right one stored by rows.
  int left = (lane & 15) * kRowBytes + (((lane >> 4) ^ (lane & 7)) << 4);
  // For a right matrix that is stored transposed.
  int right = ((lane & 7) + ((lane >> 4) << 3)) * kRowBytes +
              ((((lane >> 3) & 1) ^ (lane & 7)) << 4);
  int result = g * kRowBytes + (g << 4) + 4 * t;
  // Eight lanes per row, which have 16 bytes each...
  int row = lane / 8;
  int sixteen = row * kRowBytes + (((lane & 7) ^ row) << 4);
  // ...or four values of either half.
  int column = (lane & 7) * 4;
  int halves =
      row * kRowBytes + (((lane & 7) >> 1 ^ row) << 4) + (lane & 1) * 8;

  // Columns 16 i and on.
  __device__ int Left(int i) const { return left ^ (i << 5); }
  __device__ int Right(int i) const { return right ^ (i << 5); }
  // Row `row` + 4 i.
  __device__ int Sixteen(int i) const {
    return (sixteen ^ ((i & 1) << 6)) + i * 4 * kRowBytes;
  }
  __device__ int Half(int i, int half) const {
    return (halves ^ (((i & 1) ^ half) << 6)) + i * 4 * kRowBytes;
  }
};

__device__ __forceinline__ uint32_t SharedAddress(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Four 8x8 matrices. Lanes 0 to 7 name the rows of the first, and so on.
__device__ __forceinline__ void LoadMatrices(Fragment& r, const char* p) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(SharedAddress(p)));
}
__device__ __forceinline__ void LoadTransposed(Fragment& r, const char* p) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(SharedAddress(p)));
}
// c += a b.
__device__ __forceinline__ void Multiply(float (&c)[4], const Fragment& a,
                                         uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float PowerOf2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

template <typename T>
__device__ __forceinline__ T& Value(char* p) {
  return *reinterpret_cast<T*>(p);
}

__device__ __forceinline__ uint2 LoadRaw(const Bf16* p, bool inside) {
  return inside ? *reinterpret_cast<const uint2*>(p) : make_uint2(0, 0);
}
__device__ __forceinline__ float4 Floats(const uint2& raw) {
  return Load(reinterpret_cast<const Bf16*>(&raw));
}

// 16 bytes from global to shared memory, zeros if outside.
__device__ __forceinline__ void CopyAsync(char* to, const Bf16* from,
                                          bool inside) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)),
      "l"(from), "r"(inside ? 16 : 0)
      : "memory");
}
// Ends a group of copies.
__device__ __forceinline__ void EndGroup() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Where the head of a block begins in rows x 3 x heads x 64.
struct HeadPlace {
  __device__ HeadPlace(const QkNormRope& a, int block)
      : sample(block / static_cast<int>(a.heads)),
        head(block % static_cast<int>(a.heads)),
        stride(3 * a.heads * kHead),
        k(a.heads * kHead),
        first((sample * a.tokens * 3 * a.heads + head) * kHead) {}
  int64_t sample;
  int64_t head;
  int64_t stride;
  // From a value of Q to the one of K, and from there to the one of V.
  int64_t k;
  int64_t first;
};

// The weight of a norm for the columns of a lane.
struct LaneWeight {
  __device__ LaneWeight(const float* weight, const Lanes& lanes)
      : first(Load(weight + lanes.column)),
        second(Load(weight + kHalf + lanes.column)) {}
  float4 first, second;
};

// Four angles of a token.
struct Angles {
  __device__ Angles(const QkNormRope& a, int token, const Lanes& lanes)
      : cos(Load(a.cos + token * kHead + lanes.column)),
        sin(Load(a.sin + token * kHead + lanes.column)) {}
  float4 cos, sin;
};

// Norms and rotates four values of either half of a row, and stores them.
__device__ __forceinline__ void NormRotate(float4 x1, float4 x2,
                                           const LaneWeight& weight,
                                           const Angles& angles, char* to1,
                                           char* to2) {
  const float rstd =
      rsqrtf(HeadSum(Sum(x1 * x1) + Sum(x2 * x2)) / kHead + kEpsilon);
  const float4 cos = angles.cos * rstd, sin = angles.sin * rstd;
  const float4 n1 = x1 * weight.first, n2 = x2 * weight.second;
  Store(&Value<Bf16>(to1), n1 * cos - n2 * sin);
  Store(&Value<Bf16>(to2), n2 * cos + n1 * sin);
}

// Copies V of a tile to its rows of `to`, without waiting.
__device__ __forceinline__ void CopyValues(const QkNormRope& a,
                                           const HeadPlace& place, int tile,
                                           const Lanes& lanes, char* to) {
  const Bf16* const in =
      a.qkv + place.first + 2 * place.k + (lanes.lane & 7) * 8;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = tile * kTile + lanes.row + 4 * i;
    const bool inside = row < a.tokens;
    CopyAsync(to + tile * kTileBytes + lanes.Sixteen(i),
              in + (inside ? row : 0) * place.stride, inside);
  }
}

// Writes 16 rows of 64 results of a warp, times `scale`, to a tile.
__device__ __forceinline__ void StoreTile(const float (&c)[8][4], char* tile,
                                          float scale0, float scale1,
                                          const Lanes& lanes) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    char* const to = tile + (lanes.result ^ (j << 4));
    Value<uint32_t>(to) = Pack(c[j][0] * scale0, c[j][1] * scale0);
    Value<uint32_t>(to + 8 * kRowBytes) =
        Pack(c[j][2] * scale1, c[j][3] * scale1);
  }
}

// Copies the rows of a tile, of which the first is `row`, below `end` to global
// memory, `stride` apart.
__device__ __forceinline__ void CopyTile(char* tile, int row, int end, Bf16* to,
                                         int64_t stride, const Lanes& lanes) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = row + lanes.row + 4 * i;
    if (at < end) {
      *reinterpret_cast<uint4*>(to + at * stride + (lanes.lane & 7) * 8) =
          Value<uint4>(tile + lanes.Sixteen(i));
    }
  }
}

// Blocks may use so much shared memory from now on.
template <typename Kernel>
void AllowShared(Kernel* kernel, int bytes) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       bytes);
}

// Tokens of a ViT with 224 pixels, patches of 16 and 4 registers.
constexpr int kVitTokens = 201;

}  // namespace fused
}  // namespace feedrate
