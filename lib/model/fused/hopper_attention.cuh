// What attention on a Hopper and its backward pass share: where lanes stand,
// and rows of Q and K that are normed and rotated. For these files only.
#pragma once

#include "lib/model/fused/attention.cuh"
#include "lib/model/fused/hopper.cuh"

namespace feedrate {
namespace fused {

constexpr int kGroupWarps = 4;
constexpr int kGroupThreads = kGroupWarps * kWarp;
// Rows that a warp group multiplies at a time.
constexpr int kGroupRows = kGroupWarps * kTile;
// Rows that a warp norms at a time, and their bytes.
constexpr int kOctet = 8;
constexpr int kOctetBytes = kOctet * hopper::kTileRowBytes;
constexpr int kOctets = kRows / kOctet;
constexpr int kMatrixBytes = kRows * hopper::kTileRowBytes;
constexpr int kHeadsInMemory = 2;

// Where the lanes of a warp stand.
struct HopperLanes {
  // The same for all lanes, which the compiler must know.
  int group = __shfl_sync(~0u, threadIdx.x / kGroupThreads, 0);
  int warp = __shfl_sync(~0u, threadIdx.x / kWarp % kGroupWarps, 0);
  int lane = threadIdx.x % kWarp;
  int g = lane >> 2;
  int t = lane & 3;
};

// The values of a row that a lane of the four of that row has: columns 8 t to
// 8 t + 7 of either half. A pair that is rotated is in one lane.
struct LaneRow {
  uint32_t pair[2][4];
};

// Where a lane finds its 16 bytes of the first half of a row of an octet, and
// which row: eight lanes of two rows use all banks if the rows are four apart.
struct OctetPlace {
  __device__ explicit OctetPlace(const HopperLanes& lanes)
      : row((lanes.g & 1) * 4 + (lanes.g >> 1)),
        bytes(row * hopper::kTileRowBytes + ((lanes.t ^ row) << 4)) {}
  __device__ LaneRow Load(char* octet) const {
    LaneRow out;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint4 raw = Value<uint4>(octet + (bytes ^ (h << 6)));
      out.pair[h][0] = raw.x;
      out.pair[h][1] = raw.y;
      out.pair[h][2] = raw.z;
      out.pair[h][3] = raw.w;
    }
    return out;
  }
  // A lane's pair i of half h goes to group 4 h + i of 16 bytes: the order in
  // which lanes have columns of sums. Scores do not depend on the order.
  __device__ void Save(const LaneRow& from, char* octet, int t) const {
    char* const to = octet + row * hopper::kTileRowBytes + 4 * t;
#pragma unroll
    for (int group = 0; group < 8; ++group) {
      Value<uint32_t>(to + ((group ^ row) << 4)) =
          from.pair[group / 4][group % 4];
    }
  }
  int row, bytes;
};

// A lane's part of row `row` that OctetPlace saved.
__device__ __forceinline__ LaneRow SavedRow(const char* matrix, int row,
                                            int t) {
  const char* const from = matrix + row * hopper::kTileRowBytes + 4 * t;
  LaneRow out;
#pragma unroll
  for (int group = 0; group < 8; ++group) {
    out.pair[group / 4][group % 4] = *reinterpret_cast<const uint32_t*>(
        from + ((group ^ row % kOctet) << 4));
  }
  return out;
}

__device__ __forceinline__ float2 Unpack(uint32_t raw) {
  return make_float2(__uint_as_float(raw << 16),
                     __uint_as_float(raw & 0xffff0000));
}
__device__ __forceinline__ float4 Unpack(uint32_t low, uint32_t high) {
  const float2 a = Unpack(low), b = Unpack(high);
  return make_float4(a.x, a.y, b.x, b.y);
}

// The sum over the four lanes of a row.
__device__ __forceinline__ float RowSum(float v) {
  v += __shfl_xor_sync(~0u, v, 1);
  return v + __shfl_xor_sync(~0u, v, 2);
}

// One over the root mean square of a row.
__device__ __forceinline__ float Rstd(const LaneRow& raw) {
  float squares[2] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = Unpack(raw.pair[h][i]);
      squares[h] = fmaf(pair.x, pair.x, squares[h]);
      squares[h] = fmaf(pair.y, pair.y, squares[h]);
    }
  }
  return rsqrtf(fmaf(RowSum(squares[0] + squares[1]), 1.f / kHead, kEpsilon));
}

// Norms and rotates a row. `angles(i)` gives four cosines of columns 8 t + 4 i
// and on, `angles(2 + i)` their sines.
template <typename Angles4>
__device__ __forceinline__ LaneRow NormRotate(const LaneRow& raw, float rstd,
                                              const float* weights, int t,
                                              Angles4 angles) {
  LaneRow out;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float4 cos = angles(i) * rstd, sin = angles(2 + i) * rstd;
    const float4 x1 = Unpack(raw.pair[0][2 * i], raw.pair[0][2 * i + 1]) *
                      Load(weights + 8 * t + 4 * i);
    const float4 x2 = Unpack(raw.pair[1][2 * i], raw.pair[1][2 * i + 1]) *
                      Load(weights + kHalf + 8 * t + 4 * i);
    const float4 y1 = x1 * cos - x2 * sin, y2 = x2 * cos + x1 * sin;
    out.pair[0][2 * i] = Pack(y1.x, y1.y);
    out.pair[0][2 * i + 1] = Pack(y1.z, y1.w);
    out.pair[1][2 * i] = Pack(y2.x, y2.y);
    out.pair[1][2 * i + 1] = Pack(y2.z, y2.w);
  }
  return out;
}

// What a lane has of a tile of sums, 64 x 64, and of one of values as a left
// matrix.
using Sums = float[32];
using Rows = Fragment[kHead / kTile];

// The rows of a warp as a left matrix.
__device__ __forceinline__ void ReadRows(const char* tile,
                                         const HopperLanes& lanes, Rows& rows) {
  const int row = lanes.warp * kTile + lanes.lane % kTile;
#pragma unroll
  for (int i = 0; i < kHead / kTile; ++i) {
    LoadMatrices(rows[i],
                 tile + row * hopper::kTileRowBytes +
                     ((2 * i + lanes.lane / kTile ^ row % kOctet) << 4));
  }
}

// The pair of columns 8 i + 2 t of a lane's row g + 8 j.
__device__ __forceinline__ float2 PairOf(const Rows& rows, int i, int j) {
  return Unpack(rows[i / 2][i % 2 * 2 + j]);
}

// sums (+)= left times 64 columns of a tile or, if kTransposed, 64 of its rows.
template <bool kTransposed>
__device__ __forceinline__ void StartProduct(const hopper::Matrix& memory,
                                             int tile, const Rows& left,
                                             bool add, Sums& sums) {
  hopper::BeginProducts();
#pragma unroll
  for (int i = 0; i < kHead / kTile; ++i) {
    hopper::MultiplyRegisters64x64<kTransposed>(
        sums, left[i],
        memory.At(tile + i * (kTransposed ? 2 * kOctetBytes : 32)),
        add || i > 0);
  }
  hopper::EndProducts();
}

// A lane's sums as a left matrix.
__device__ __forceinline__ void PackRows(const Sums& sums, Rows& rows) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    rows[i / 4][i % 4] = Pack(sums[2 * i], sums[2 * i + 1]);
  }
}

// Of each lane of a row and each of four groups of eight columns, in which a
// lane has a pair: gives lane t all pairs of group t.
__device__ __forceinline__ void Transpose(uint32_t (&r)[4], int t) {
#pragma unroll
  for (int o = 2; o >= 1; o >>= 1) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int low = o == 2 ? i : 2 * i;
      const uint32_t give = t & o ? r[low] : r[low + o];
      const uint32_t got = __shfl_xor_sync(~0u, give, o);
      (t & o ? r[low] : r[low + o]) = got;
    }
  }
}

}  // namespace fused
}  // namespace feedrate
