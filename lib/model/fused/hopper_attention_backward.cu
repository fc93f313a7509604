// One block per processor, which goes from head to head. The copy engine brings
// heads, with Q and K as the forward pass normed and rotated them. Warp groups
// multiply tiles of 64 rows: of keys, which give the gradients of K and V, and
// of queries, which give that of Q. Both compute their scores, so that nothing
// but a head is shared, and nobody waits for the gradient of a score. One more
// group finds what the rows of the next head need besides.
#include <algorithm>
#include <cstddef>

#include "lib/model/fused/hopper_attention.cuh"
#include "lib/model/fused/hopper_attention.h"

namespace feedrate {
namespace fused {
namespace {

// Warp groups that multiply, with their registers per thread, and those of the
// group that does not.
constexpr int kGroups = 3;
constexpr int kGroupRegisters = 152;
constexpr int kHelperRegisters = 40;
constexpr int kBlockThreads = (kGroups + 1) * kGroupThreads;
// Tiles of 16 columns of scores that are computed at a time: first one, then as
// many as registers allow. A tile of keys has the sums of two gradients.
template <bool kKeys>
constexpr int kColumnTiles = kKeys ? 3 : 4;
static_assert(kTiles % kColumnTiles<true> == 1);
static_assert(kTiles % kColumnTiles<false> == 1);

// A head. The last tile of a matrix ends in the next one, whose rows serve as
// well as any for rows that are not there.
struct BackwardHead {
  char q[kMatrixBytes];
  char k[kMatrixBytes];
  char v[kMatrixBytes];
  char dmixed[kMatrixBytes];
};
constexpr int kQ = offsetof(BackwardHead, q);
constexpr int kK = offsetof(BackwardHead, k);
constexpr int kV = offsetof(BackwardHead, v);
constexpr int kMixed = offsetof(BackwardHead, dmixed);

struct HopperBackwardMemory {
  BackwardHead head[kHeadsInMemory];
  // Of each query: the log of the softmax's sum, and the dot product of the
  // result and its gradient.
  float log_sum[kHeadsInMemory][kRows];
  float dot[kHeadsInMemory][kRows];
  // Weights of both norms, their inverses, and their gradients by warp.
  float weights[2][kHead], inverses[2][kHead];
  float sums[kGroups * kGroupWarps][2][kHead];
  // A head has been brought, has all its numbers, may be replaced.
  uint64_t raw[kHeadsInMemory], full[kHeadsInMemory], empty[kHeadsInMemory];
};
constexpr int kBackwardBytes = sizeof(HopperBackwardMemory);
static_assert(kBackwardBytes <= 227 << 10, "a block has no more");

struct BackwardMaps {
  // tokens x 3 heads x 64 of each sample, and the gradient of the result,
  // queries x heads x 64, in tiles of one head of all rows.
  CUtensorMap qkv, dmixed;
};

struct BackwardJob {
  QkNormRope a;
  int tokens, queries, blocks;
  const Bf16* mixed;
  const float *log_sum, *rstd;
  Bf16* dqkv;
};

// Where columns 8 t to 8 t + 7 of row `row` of part 0 (Q), 1 (K) or 2 (V) of a
// head lie.
__device__ __forceinline__ int64_t PlaceOf(const BackwardJob& job, int block,
                                           int part, int row, int t) {
  const int heads = job.a.heads;
  const int sample = block / heads, head = block % heads;
  return ((static_cast<int64_t>(sample) * job.tokens + row) * 3 * heads +
          part * heads + head) *
             kHead +
         8 * t;
}

// A lane's part of a row, from its first value in global memory on.
__device__ __forceinline__ LaneRow ReadRow(const Bf16* from) {
  const uint4 a = *reinterpret_cast<const uint4*>(from);
  const uint4 b = *reinterpret_cast<const uint4*>(from + kHalf);
  return {{{a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}}};
}

// Brings a head, which is number `use` of this block.
__device__ __forceinline__ void Bring(const BackwardMaps& maps,
                                      const BackwardJob& job, int block,
                                      int use, HopperBackwardMemory* m) {
  if (block < 0) return;
  const int heads = job.a.heads;
  const int sample = block / heads, column = block % heads * kHead;
  uint64_t* const raw = &m->raw[use % kHeadsInMemory];
  BackwardHead* const to = &m->head[use % kHeadsInMemory];
  hopper::ArriveExpecting(raw, sizeof(BackwardHead));
  hopper::LoadTile(maps.dmixed, to->dmixed, raw, column, 0, sample);
  for (int part = 0; part < 3; ++part) {
    hopper::LoadTile(maps.qkv, to->q + part * kMatrixBytes, raw,
                     column + part * heads * kHead, 0, sample);
  }
}

// Finds the numbers of rows of all heads of a block, and has the next ones
// brought.
__device__ __forceinline__ void Help(const BackwardMaps& maps,
                                     const BackwardJob& job,
                                     const HopperLanes& lanes,
                                     HopperBackwardMemory* m) {
  const int step = gridDim.x;
  const bool brings = threadIdx.x % kGroupThreads == 0;
  const OctetPlace at(lanes);
  int use = 0;
  for (int block = job.blocks - 1 - blockIdx.x; block >= 0;
       block -= step, ++use) {
    const int place = use % kHeadsInMemory, turn = use / kHeadsInMemory & 1;
    const int heads = job.a.heads;
    const Bf16* const mixed =
        job.mixed +
        (block / heads * job.queries * static_cast<int64_t>(heads) +
         block % heads) *
            kHead +
        8 * lanes.t;
    hopper::Wait(&m->empty[place], turn ^ 1);
    hopper::Wait(&m->raw[place], turn);
#pragma unroll 1
    for (int octet = lanes.warp; octet < kOctets; octet += kGroupWarps) {
      const int row = octet * kOctet + at.row;
      const int query = min(row, job.queries - 1);
      const LaneRow result = ReadRow(mixed + query * heads * kHead);
      const float log_sum = job.log_sum[block * kRows + query];
      const LaneRow gradient =
          at.Load(m->head[place].dmixed + octet * kOctetBytes);
      float dot = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 x = Unpack(result.pair[i / 4][i % 4]);
        const float2 y = Unpack(gradient.pair[i / 4][i % 4]);
        dot = fmaf(x.x, y.x, fmaf(x.y, y.y, dot));
      }
      dot = RowSum(dot);
      if (lanes.t == 0) {
        // A row that is not there has probability 0, and gradients of 0.
        m->log_sum[place][row] = row < job.queries ? log_sum : 1e30f;
        m->dot[place][row] = row < job.queries ? dot : 0;
      }
    }
    hopper::Arrive(&m->full[place]);
    // The head before this one makes room for the next one.
    if (brings && use > 0) {
      hopper::Wait(&m->empty[(use + 1) % kHeadsInMemory],
                   ((use + 1) / kHeadsInMemory & 1) ^ 1);
      Bring(maps, job, block - step, use + 1, m);
    }
    __syncwarp();
  }
}

// ---- Warp groups that multiply.

// Starts the scores of a tile of rows, or their gradients: `left` is its first
// byte, `right` that of the first of kCount tiles of columns.
template <int kCount, int kSize>
__device__ __forceinline__ void StartScores(const hopper::Matrix& heads,
                                            int left, int right,
                                            float (&sums)[kSize]) {
  hopper::BeginProducts();
#pragma unroll
  for (int i = 0; i < kHead / kTile; ++i) {
    const uint64_t a = heads.At(left + 32 * i), b = heads.At(right + 32 * i);
    if constexpr (kCount == 1) {
      hopper::Multiply64x16(sums, a, b, i > 0);
    } else if constexpr (kCount == 3) {
      hopper::Multiply64x48(sums, a, b, i > 0);
    } else {
      static_assert(kCount == 4);
      hopper::Multiply64x64(sums, a, b, i > 0);
    }
  }
  hopper::EndProducts();
}

// sums (+)= kCount tiles of `left` times their rows of a matrix.
template <int kCount>
__device__ __forceinline__ void StartGradient(const hopper::Matrix& heads,
                                              const Fragment (&left)[kCount],
                                              int right, bool add, Sums& sums) {
  hopper::BeginProducts();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    hopper::MultiplyRegisters64x64(
        sums, left[i], heads.At(right + i * 2 * kOctetBytes), add || i > 0);
  }
  hopper::EndProducts();
}

// The values of a lane in kCount tiles of columns as a left matrix.
template <int kCount>
__device__ __forceinline__ void PackTiles(const float* sums,
                                          Fragment (&tiles)[kCount]) {
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) {
    tiles[i / 4][i % 4] = Pack(sums[2 * i], sums[2 * i + 1]);
  }
}

// Numbers of rows, which a lane has two of, or of kCount tiles of columns.
template <bool kColumns, int kCount>
struct Numbers {
  // `first`: of the first row of a warp, or of the first column.
  __device__ Numbers(const float* first, const HopperLanes& lanes) {
    if (kColumns) {
#pragma unroll
      for (int j = 0; j < 2 * kCount; ++j) {
        pairs[j] =
            *reinterpret_cast<const float2*>(first + 8 * j + 2 * lanes.t);
      }
    } else {
      pairs[0] = make_float2(first[lanes.g], first[lanes.g + 8]);
    }
  }
  // The one of sum `i` of a lane.
  __device__ float Of(int i) const {
    const float2 pair = pairs[kColumns ? i / 4 : 0];
    return (kColumns ? i % 2 : i / 2 % 2) == 0 ? pair.x : pair.y;
  }
  float2 pairs[kColumns ? 2 * kCount : 1];
};

// What a lane reads of two rows to turn their gradient back.
struct NormInputs {
  // `row0`: the first row of the lane.
  __device__ NormInputs(const BackwardJob& job, int block, int part, int row0,
                        int t) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = min(row0 + 8 * i, job.tokens - 1);
      rstd[i] = job.rstd[(2 * block + part) * kRows + row];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int at = row * kHead + 8 * t + 4 * k;
        cos[i][k] = Load(job.a.cos + at);
        sin[i][k] = Load(job.a.sin + at);
      }
    }
  }
  float rstd[2];
  float4 cos[2][2], sin[2][2];
};

// A tile of 64 keys, or of 64 queries, of a head.
template <bool kKeys>
struct RowTile {
  using Scores = float[8 * kColumnTiles<kKeys>];
  const hopper::Matrix& heads;
  const HopperLanes& lanes;
  // The first byte of the head in memory, and its numbers; the tile's first
  // row.
  int head;
  const float *log_sums, *dots;
  int row;
  // Whether the warp has rows that are there.
  bool busy;
  // Of probabilities: V. Of scores: K, or Q.
  Sums dv, dx;

  // Starts the scores of columns of which the first is `tile` times 16, and
  // their gradients.
  template <int kCount>
  __device__ __forceinline__ void Start(int tile, Scores& s, Scores& ds) {
    const int left = head + row * hopper::kTileRowBytes;
    const int right = head + tile * 2 * kOctetBytes;
    StartScores<kCount>(heads, left + (kKeys ? kK : kQ),
                        right + (kKeys ? kQ : kK), s);
    StartScores<kCount>(heads, left + (kKeys ? kV : kMixed),
                        right + (kKeys ? kMixed : kV), ds);
  }

  // Adds what they give to gradients.
  template <int kCount>
  __device__ __forceinline__ void Finish(int tile, Scores& s, Scores& ds) {
    Fragment p[kCount], q[kCount];
    const int right = head + tile * 2 * kOctetBytes;
    const int first =
        kKeys ? tile * kTile : min(row + lanes.warp * kTile, kRows - kTile);
    const Numbers<kKeys, kCount> log_sum(log_sums + first, lanes);
    hopper::WaitForProducts<1>();
    hopper::Products(s);
#pragma unroll
    for (int i = 0; i < 8 * kCount; ++i) {
      s[i] = busy ? PowerOf2(fmaf(s[i], kScale2, -log_sum.Of(i))) : 0;
    }
    if (kKeys) {
      PackTiles<kCount>(s, p);
      StartGradient<kCount>(heads, p, right + kMixed, tile > 0, dv);
    }
    const Numbers<kKeys, kCount> dot(dots + first, lanes);
    hopper::WaitForProducts<kKeys ? 1 : 0>();
    hopper::Products(ds);
#pragma unroll
    for (int i = 0; i < 8 * kCount; ++i) {
      ds[i] = busy ? s[i] * (ds[i] - dot.Of(i)) : 0;
    }
    PackTiles<kCount>(ds, q);
    StartGradient<kCount>(heads, q, right + (kKeys ? kQ : kK), tile > 0, dx);
  }

  // All columns.
  __device__ __forceinline__ void TakeAll(int columns) {
    Scores s, ds;
    Start<1>(0, s, ds);
    Finish<1>(0, s, ds);
    hopper::WaitForProducts<0>();
    constexpr int kCount = kColumnTiles<kKeys>;
#pragma unroll 1
    for (int tile = 1; tile * kTile < columns; tile += kCount) {
      Start<kCount>(tile, s, ds);
      Finish<kCount>(tile, s, ds);
      // Without this the compiler lets all products wait for each other.
      hopper::WaitForProducts<0>();
    }
    hopper::Products(dx);
    if (kKeys) hopper::Products(dv);
  }
};

// Turns the gradient of normed and rotated rows into the one of what the
// product gave, writes that, and adds the gradient of the norm's weight, but
// for a factor, to `weight_sums`. `matrix`: Q or K; `row0`: the first row of
// the lane.
__device__ __forceinline__ void StoreNormGradient(
    const BackwardJob& job, const HopperBackwardMemory* m, const char* matrix,
    int block, int part, int row0, int t, const NormInputs& in,
    const Sums& gradient, float* weight_sums) {
  float sums[16] = {};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = row0 + 8 * i;
    const bool inside = row < job.tokens;
    const LaneRow saved = SavedRow(matrix, row, t);
    float n[16], x[16], dot = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float cos = (&in.cos[i][k / 4].x)[k % 4];
      const float sin = (&in.sin[i][k / 4].x)[k % 4];
      const float g1 = gradient[k / 2 * 4 + 2 * i + k % 2];
      const float g2 = gradient[16 + k / 2 * 4 + 2 * i + k % 2];
      const float2 pair1 = Unpack(saved.pair[0][k / 2]);
      const float2 pair2 = Unpack(saved.pair[1][k / 2]);
      const float y1 = k % 2 == 0 ? pair1.x : pair1.y;
      const float y2 = k % 2 == 0 ? pair2.x : pair2.y;
      // A rotation's gradient is turned back by the same angle, and so is what
      // was rotated.
      n[k] = g1 * cos + g2 * sin;
      n[8 + k] = g2 * cos - g1 * sin;
      x[k] = y1 * cos + y2 * sin;
      x[8 + k] = y2 * cos - y1 * sin;
    }
    // Weights and their inverses cancel.
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float product = n[k] * x[k];
      dot += product;
      if (inside) sums[k] += product;
    }
    dot = RowSum(dot) * (1.f / kHead);
    const float factor = in.rstd[i] * kScale;
    const int first = part * kHead + 8 * t;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int c = first + k / 8 * kHalf + k % 8;
      n[k] =
          (n[k] * m->weights[0][c] - x[k] * (m->inverses[0][c] * dot)) * factor;
    }
    if (inside) {
      Bf16* const to = job.dqkv + PlaceOf(job, block, part, row, t);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float* const v = n + 8 * h;
        *reinterpret_cast<uint4*>(to + h * kHalf) =
            make_uint4(Pack(v[0], v[1]), Pack(v[2], v[3]), Pack(v[4], v[5]),
                       Pack(v[6], v[7]));
      }
    }
  }
  HalveSums<8, 16>(sums);
  HalveSums<4, 8>(sums);
  HalveSums<2, 4>(sums);
  weight_sums[0] += sums[0];
  weight_sums[1] += sums[1];
}

// Writes the gradient of 16 rows of V.
__device__ __forceinline__ void StoreValues(const BackwardJob& job, int block,
                                            int row0, int t, const Sums& dv) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = row0 + 8 * i;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t r[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float* const c = dv + 16 * h + 4 * k + 2 * i;
        r[k] = Pack(c[0], c[1]);
      }
      Transpose(r, t);
      if (row < job.tokens) {
        *reinterpret_cast<uint4*>(job.dqkv + PlaceOf(job, block, 2, row, t) +
                                  h * kHalf) =
            make_uint4(r[0], r[1], r[2], r[3]);
      }
    }
  }
}

// One tile of a head.
template <bool kKeys>
__device__ __forceinline__ void TakeTile(const BackwardJob& job,
                                         const hopper::Matrix& heads, int block,
                                         int place, int row,
                                         const HopperLanes& lanes,
                                         const HopperBackwardMemory* m,
                                         float* weight_sums) {
  const int part = kKeys ? 1 : 0;
  const int warp_row = row + lanes.warp * kTile;
  const int row0 = warp_row + lanes.g;
  RowTile<kKeys> tile = {heads,
                         lanes,
                         place * static_cast<int>(sizeof(BackwardHead)),
                         m->log_sum[place],
                         m->dot[place],
                         row,
                         warp_row < (kKeys ? job.tokens : job.queries)};
  if (kKeys || row < job.queries) {
    tile.TakeAll(kKeys ? job.queries : job.tokens);
  } else {
#pragma unroll
    for (int i = 0; i < 32; ++i) tile.dx[i] = 0;
  }
  if (warp_row >= job.tokens) return;
  const NormInputs in(job, block, part, row0, lanes.t);
  if (kKeys) StoreValues(job, block, row0, lanes.t, tile.dv);
  const BackwardHead& head = m->head[place];
  StoreNormGradient(job, m, kKeys ? head.k : head.q, block, part, row0, lanes.t,
                    in, tile.dx, weight_sums + part * kHead);
}

// Multiplies every kGroups-th tile: of keys and of queries, by turns.
__device__ __forceinline__ void Multiply(const BackwardJob& job,
                                         const HopperLanes& lanes,
                                         HopperBackwardMemory* m) {
  const hopper::Matrix heads(m->head[0].q, 16, kOctetBytes);
  // Bits 16, 8 and 4 of the lane picked sums 8, 4 and 2 of 16. Each lane has
  // two of Q and two of K.
  float* const weight_sums =
      m->sums[lanes.group * kGroupWarps + lanes.warp][0] +
      (lanes.g >> 2) * kHalf + 8 * lanes.t + 2 * (lanes.g & 3);
  for (int i = 0; i < 2; ++i) {
    weight_sums[i] = weight_sums[kHead + i] = 0;
  }
  const int tiles = 2 * ((job.tokens + kGroupRows - 1) / kGroupRows);
  // The next tile of this group, counted from those of this head.
  int tile = lanes.group;
  int use = 0;
  const int step = gridDim.x;
  for (int block = job.blocks - 1 - blockIdx.x; block >= 0;
       block -= step, ++use) {
    const int place = use % kHeadsInMemory, turn = use / kHeadsInMemory & 1;
    hopper::Wait(&m->raw[place], turn);
    hopper::Wait(&m->full[place], turn);
#pragma unroll 1
    for (; tile < tiles; tile += kGroups) {
      const int row = tile / 2 * kGroupRows;
      if (tile % 2 == 0) {
        TakeTile<true>(job, heads, block, place, row, lanes, m, weight_sums);
      } else {
        TakeTile<false>(job, heads, block, place, row, lanes, m, weight_sums);
      }
    }
    tile -= tiles;
    hopper::Arrive(&m->empty[place]);
  }
}

// kTokens: the number of tokens if it is known, else 0.
template <int kTokens>
__global__ void __launch_bounds__(kBlockThreads, 1)
    HopperAttentionBackwardKernel(const __grid_constant__ BackwardMaps maps,
                                  BackwardJob job, float* partial) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  HopperBackwardMemory* const m =
      reinterpret_cast<HopperBackwardMemory*>(bytes);
  if (kTokens > 0) job.tokens = kTokens;
  const HopperLanes lanes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kHeadsInMemory; ++i) {
      hopper::InitBarrier(&m->raw[i], 1);
      hopper::InitBarrier(&m->full[i], kGroupThreads);
      hopper::InitBarrier(&m->empty[i], kGroups * kGroupThreads);
    }
    hopper::FenceForEngines();
    for (int i = 0; i < kHeadsInMemory; ++i) {
      Bring(maps, job, job.blocks - 1 - blockIdx.x - i * gridDim.x, i, m);
    }
  }
  if (threadIdx.x < 2 * kHead) {
    const float weight =
        NotZero((threadIdx.x < kHead ? job.a.q_weight
                                     : job.a.k_weight)[threadIdx.x % kHead]);
    m->weights[0][threadIdx.x] = weight;
    m->inverses[0][threadIdx.x] = 1 / weight;
  }
  __syncthreads();
  if (lanes.group >= kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kHelperRegisters));
    Help(maps, job, lanes, m);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kGroupRegisters));
    Multiply(job, lanes, m);
  }
  __syncthreads();
  if (threadIdx.x < 2 * kHead) {
    float sum = 0;
    for (int w = 0; w < kGroups * kGroupWarps; ++w) {
      sum += m->sums[w][0][threadIdx.x];
    }
    partial[blockIdx.x * 2 * kHead + threadIdx.x] =
        sum * kScale * m->inverses[0][threadIdx.x];
  }
#endif
}

}  // namespace

void RunHopperAttentionBackward(const QkNormRope& a, int64_t queries,
                                const HopperForward& forward,
                                const Bf16* dmixed, Bf16* dqkv,
                                float* dq_weight, float* dk_weight,
                                SumList* sums, bool accumulate,
                                cudaStream_t s) {
  const int64_t samples = a.rows / a.tokens, heads = samples * a.heads;
  const auto map_of = [&](const Bf16* matrix, int64_t count, int64_t rows) {
    return hopper::MapOf(matrix, {count * kHead, rows, samples},
                         {kHead, kRows, 1});
  };
  const BackwardMaps maps = {map_of(a.qkv, 3 * a.heads, a.tokens),
                             map_of(dmixed, a.heads, queries)};
  const BackwardJob job = {a,
                           static_cast<int>(a.tokens),
                           static_cast<int>(queries),
                           static_cast<int>(heads),
                           forward.mixed,
                           forward.log_sum,
                           forward.rstd,
                           dqkv};
  const auto kernel = a.tokens == kVitTokens
                          ? HopperAttentionBackwardKernel<kVitTokens>
                          : HopperAttentionBackwardKernel<0>;
  AllowShared(kernel, kBackwardBytes);
  const int blocks = std::min<int64_t>(heads, hopper::Processors());
  float* const partial = sums->Take(blocks * 2 * kHead);
  kernel<<<blocks, kBlockThreads, kBackwardBytes, s>>>(maps, job, partial);
  Check("attention, backward");
  sums->Add(partial, blocks, 2 * kHead, kHead, dq_weight, accumulate);
  sums->Add(partial + kHead, blocks, 2 * kHead, kHead, dk_weight, accumulate);
}

}  // namespace fused
}  // namespace feedrate
