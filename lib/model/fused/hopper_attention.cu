// One block per processor, which goes from head to head. The copy engine brings
// heads; two warp groups norm and rotate Q and K of the next one where they
// are, while the other two multiply: each takes every other tile of 64 queries,
// whose scores and probabilities never leave registers.
#include <algorithm>

#include "lib/model/fused/hopper_attention.cuh"
#include "lib/model/fused/hopper_attention.h"

namespace feedrate {
namespace fused {
namespace {

// Warp groups that multiply, and that norm, with their registers per thread.
constexpr int kGroups = 2;
constexpr int kGroupRegisters = 168;
constexpr int kNormers = 2;
constexpr int kNormerRegisters = 88;
constexpr int kNormerWarps = kNormers * kGroupWarps;
constexpr int kBlockThreads = (kGroups + kNormers) * kGroupThreads;
// Octets that a warp norms together, so that they hide each other's latency.
constexpr int kTogether = 2;
// Exponents of base 2 up to this size need no shift.
constexpr float kSafeExponent = 100;

// A head. The last tile of queries ends in K, whose rows serve as well as any
// for queries that are not there.
struct HeadMemory {
  char q[kMatrixBytes];
  char k[kMatrixBytes];
  char v[kMatrixBytes];
};
struct HopperMemory {
  HeadMemory head[kHeadsInMemory];
  // What each warp that multiplies saves.
  char out[kGroups][kGroupWarps][kTile * hopper::kTileRowBytes];
  // Cosines and sines of a token: chunks of four as lanes of a row load them.
  float4 angles[kRows][4][4];
  // Weights of both norms.
  float weights[2][kHead];
  // A head has been brought, is normed and rotated, may be replaced.
  uint64_t raw[kHeadsInMemory], full[kHeadsInMemory], empty[kHeadsInMemory];
};
constexpr int kHopperBytes = sizeof(HopperMemory);
static_assert(kHopperBytes <= 227 << 10, "a block has no more");

struct HopperMaps {
  // tokens x 3 heads x 64 of each sample, in tiles of one head of all tokens. Q
  // and K are put back as they are normed and rotated.
  CUtensorMap in;
  // queries x heads x 64 of each sample, in tiles of 16 queries.
  CUtensorMap out;
};

// The place of a chunk of angles: eight lanes of two rows read all banks.
__device__ __forceinline__ int AngleChunk(int row, int chunk) {
  return chunk ^ (row >> 2 & 1);
}

// Turns scores into probabilities times sum0 and sum1, of rows g and g + 8.
struct Softmax {
  // Scores of keys 8 j to 8 j + 7.
  __device__ float* Scores(int j) {
    return s[j / kHalfBlocks] + j % kHalfBlocks * 4;
  }
  __device__ void Mask(int j, int tokens, const HopperLanes& lanes) {
    float* const c = Scores(j);
    if (8 * j + 8 > tokens) {
      if (8 * j + 2 * lanes.t >= tokens) c[0] = c[2] = -INFINITY;
      if (8 * j + 2 * lanes.t + 1 >= tokens) c[1] = c[3] = -INFINITY;
    }
  }
  __device__ void FindTops(int tokens, const HopperLanes& lanes) {
    top0 = top1 = -INFINITY;
#pragma unroll
    for (int j = 0; j < kRows / 8; ++j) {
      Mask(j, tokens, lanes);
      const float* const c = Scores(j);
      top0 = fmaxf(top0, fmaxf(c[0], c[1]));
      top1 = fmaxf(top1, fmaxf(c[2], c[3]));
    }
    // A row lies in four lanes.
#pragma unroll
    for (int o = 1; o <= 2; o <<= 1) {
      top0 = fmaxf(top0, __shfl_xor_sync(~0u, top0, o));
      top1 = fmaxf(top1, __shfl_xor_sync(~0u, top1, o));
    }
    top0 *= kScale2;
    top1 *= kScale2;
  }
  // Turns the scores of kCount tiles of keys, from kFirst on, into
  // probabilities.
  template <int kFirst, int kCount>
  __device__ void Take(Fragment (&p)[kCount], int tokens,
                       const HopperLanes& lanes) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int j = 2 * (kFirst + i) + half;
        Mask(j, tokens, lanes);
        const float* const c = Scores(j);
        const float p0 = PowerOf2(fmaf(c[0], kScale2, -top0));
        const float p1 = PowerOf2(fmaf(c[1], kScale2, -top0));
        const float p2 = PowerOf2(fmaf(c[2], kScale2, -top1));
        const float p3 = PowerOf2(fmaf(c[3], kScale2, -top1));
        sum0 += p0 + p1;
        sum1 += p2 + p3;
        p[i][2 * half] = Pack(p0, p1);
        p[i][2 * half + 1] = Pack(p2, p3);
      }
    }
  }
  // Fills `p` for rows that nobody reads, without exponentials.
  template <int kFirst, int kCount>
  __device__ void Skip(Fragment (&p)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const c = Scores(2 * (kFirst + i) + half);
        p[i][2 * half] = __float_as_uint(c[0]);
        p[i][2 * half + 1] = __float_as_uint(c[2]);
      }
    }
  }
  __device__ void FinishSums() {
#pragma unroll
    for (int o = 1; o <= 2; o <<= 1) {
      sum0 += __shfl_xor_sync(~0u, sum0, o);
      sum1 += __shfl_xor_sync(~0u, sum1, o);
    }
  }
  // Scores lie in two halves of the keys.
  static constexpr int kHalfBlocks = kRows / 16;
  float s[2][4 * kHalfBlocks];
  float top0 = 0, top1 = 0, sum0 = 0, sum1 = 0;
};

// Writes a warp's 16 rows of results, divided by the sums.
__device__ __forceinline__ void SaveResults(const float (&out)[32],
                                            const Softmax& softmax,
                                            const HopperLanes& lanes,
                                            const CUtensorMap& to, int head,
                                            int row, int sample, char* stage) {
  const float factor0 = __fdividef(1.f, softmax.sum0);
  const float factor1 = __fdividef(1.f, softmax.sum1);
  if (lanes.lane == 0) hopper::WaitUntilSaved<0>();
  __syncwarp();
  const uint32_t at =
      SharedAddress(stage + (lanes.lane & 15) * hopper::kTileRowBytes +
                    (((lanes.lane >> 4) ^ (lanes.lane & 7)) << 4));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* const c = out + 8 * i;
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::
            "r"(at ^ (i << 5)),
        "r"(Pack(c[0] * factor0, c[1] * factor0)),
        "r"(Pack(c[2] * factor1, c[3] * factor1)),
        "r"(Pack(c[4] * factor0, c[5] * factor0)),
        "r"(Pack(c[6] * factor1, c[7] * factor1))
        : "memory");
  }
  hopper::FenceForEngines();
  __syncwarp();
  if (lanes.lane == 0) hopper::SaveTile(to, stage, head * kHead, row, sample);
}

// Angles and weights, which stay for all heads. Returns whether scores are safe
// for the softmax: rows of Q and K have a root mean square of one.
__device__ __forceinline__ bool LoadTables(const QkNormRope& a, int tokens,
                                           HopperMemory* m) {
  for (int i = threadIdx.x; i < kRows * 16; i += kBlockThreads) {
    const int row = i / 16, chunk = i / 4 % 4, t = i % 4;
    m->angles[row][AngleChunk(row, chunk)][t] =
        Load((chunk < 2 ? a.cos : a.sin) + min(row, tokens - 1) * kHead +
             8 * t + chunk % 2 * 4);
  }
  if (threadIdx.x < 2 * kHead) {
    m->weights[threadIdx.x / kHead][threadIdx.x % kHead] = NotZero(
        (threadIdx.x < kHead ? a.q_weight : a.k_weight)[threadIdx.x % kHead]);
  }
  __syncthreads();
  float top[2];
  for (int i = 0; i < 2; ++i) {
    const float* const weights = m->weights[i];
    const int lane = threadIdx.x % kWarp;
    top[i] = fmaxf(fabsf(weights[lane]), fabsf(weights[lane + kWarp]));
    for (int o = 16; o > 0; o >>= 1) {
      top[i] = fmaxf(top[i], __shfl_xor_sync(~0u, top[i], o));
    }
  }
  return top[0] * top[1] * kHead * kScale2 < kSafeExponent;
}

// Norms and rotates kCount times eight rows where they are, kGroupWarps octets
// apart. `rstds`: of the rows of the matrix.
template <int kCount>
__device__ __forceinline__ void NormOctets(const HopperMemory* m, char* matrix,
                                           const float* weights, int octet,
                                           const HopperLanes& lanes,
                                           float* rstds) {
  const OctetPlace at(lanes);
  LaneRow rows[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    rows[i] = at.Load(matrix + (octet + i * kGroupWarps) * kOctetBytes);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int row = (octet + i * kGroupWarps) * kOctet + at.row;
    const float rstd = Rstd(rows[i]);
    if (lanes.t == 0) rstds[row] = rstd;
    rows[i] = NormRotate(rows[i], rstd, weights, lanes.t, [&](int chunk) {
      return m->angles[row][AngleChunk(row, chunk)][lanes.t];
    });
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    at.Save(rows[i], matrix + (octet + i * kGroupWarps) * kOctetBytes, lanes.t);
  }
}

// Brings a head, which is number `use` of this block, and the next one nearer.
__device__ __forceinline__ void Bring(const HopperMaps& maps, int heads,
                                      int block, int use, HopperMemory* m) {
  if (block < 0) return;
  const int place = use % kHeadsInMemory, next = block - gridDim.x;
  hopper::ArriveExpecting(&m->raw[place], sizeof(HeadMemory));
  for (int part = 0; part < 3; ++part) {
    hopper::LoadTile(maps.in, m->head[place].q + part * kMatrixBytes,
                     &m->raw[place], (part * heads + block % heads) * kHead, 0,
                     block / heads);
  }
  for (int part = 0; part < 3 && next >= 0; ++part) {
    hopper::PrefetchTile(maps.in, (part * heads + next % heads) * kHead, 0,
                         next / heads);
  }
}

// Heads come in their reverse order: the last ones that the product before
// wrote are still in the second cache.
//
// Norms and rotates Q and K of all heads of a block where they are, and has the
// next ones brought. `warp`: of all that do so.
__device__ __forceinline__ void NormHeads(const HopperMaps& maps, int heads,
                                          int tokens, int queries, int blocks,
                                          int warp, const HopperLanes& lanes,
                                          HopperMemory* m, float* rstd) {
  const int step = gridDim.x;
  // One warp group norms Q, the other one K.
  const int part = warp / kGroupWarps, first = warp % kGroupWarps;
  const int rows = part == 0 ? queries : tokens;
  const bool brings = warp == 0 && lanes.lane == 0;
  // Not before the tables are there: they would have to wait for these.
  for (int i = 0; i < kHeadsInMemory && brings; ++i) {
    Bring(maps, heads, blocks - 1 - blockIdx.x - i * step, i, m);
  }
  __syncwarp();
  int use = 0;
  for (int block = blocks - 1 - blockIdx.x; block >= 0; block -= step, ++use) {
    const int place = use % kHeadsInMemory;
    hopper::Wait(&m->raw[place], use / kHeadsInMemory & 1);
    char* const matrix = m->head[place].q + part * kMatrixBytes;
    float* const rstds =
        rstd + (2 * static_cast<int64_t>(block) + part) * kRows;
    int octet = first;
    for (; (octet + (kTogether - 1) * kGroupWarps) * kOctet < rows;
         octet += kTogether * kGroupWarps) {
      NormOctets<kTogether>(m, matrix, m->weights[part], octet, lanes, rstds);
    }
    for (; octet * kOctet < rows; octet += kGroupWarps) {
      NormOctets<1>(m, matrix, m->weights[part], octet, lanes, rstds);
    }
    hopper::FenceForEngines();
    __syncwarp();
    if (lanes.lane == 0) hopper::Arrive(&m->full[place]);
    if (brings) {
      // All have normed.
      hopper::Wait(&m->full[place], use / kHeadsInMemory & 1);
      for (int i = 0; i < 2; ++i) {
        hopper::SaveTile(maps.in, m->head[place].q + i * kMatrixBytes,
                         (i * heads + block % heads) * kHead, 0, block / heads);
      }
    }
    // The head before this one makes room for the next one.
    if (brings && use > 0) {
      hopper::WaitUntilSaved<2>();
      hopper::Wait(&m->empty[(use + 1) % kHeadsInMemory],
                   ((use + 1) / kHeadsInMemory & 1) ^ 1);
      Bring(maps, heads, block - step, use + 1, m);
    }
    __syncwarp();
  }
  // Shared memory must stay until it was read.
  if (brings) hopper::WaitUntilSaved<0>();
}

// Multiplies every other tile of queries.
__device__ __forceinline__ void Attend(const HopperMaps& maps, int heads,
                                       int tokens, int queries, int blocks,
                                       bool safe, const HopperLanes& lanes,
                                       HopperMemory* m, float* log_sum) {
  const int group = lanes.group;
  const hopper::Matrix q(m->head[0].q, 16, kOctetBytes);
  const hopper::Matrix k(m->head[0].k, 16, kOctetBytes);
  const hopper::Matrix v(m->head[0].v, 16, kOctetBytes);
  int use = 0;
  const int step = gridDim.x;
  for (int block = blocks - 1 - blockIdx.x; block >= 0; block -= step, ++use) {
    const int place = use % kHeadsInMemory;
    const int at = place * sizeof(HeadMemory);
    hopper::Wait(&m->full[place], use / kHeadsInMemory & 1);
#pragma unroll 1
    for (int tile = group; tile * kGroupRows < queries; tile += kGroups) {
      Softmax softmax;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        hopper::BeginProducts();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          hopper::Multiply64x104(
              softmax.s[half],
              q.At(at + tile * kGroupWarps * 2 * kOctetBytes + 32 * i),
              k.At(at + half * kOctets / 2 * kOctetBytes + 32 * i), i > 0);
        }
        hopper::EndProducts();
      }
      const int row0 = tile * kGroupRows + lanes.warp * kTile;
      // What of the probabilities needs the first half only.
      constexpr int kFirst = kTiles / 2;
      if (safe) {
        hopper::WaitForProducts<1>();
        hopper::Products(softmax.s[0]);
      } else {
        hopper::WaitForProducts<0>();
        hopper::Products(softmax.s[0]);
        hopper::Products(softmax.s[1]);
        softmax.FindTops(tokens, lanes);
      }
      float out[32];
      {
        Fragment p[kFirst];
        if (row0 < queries) {
          softmax.Take<0>(p, tokens, lanes);
        } else {
          softmax.Skip<0>(p);
        }
        hopper::BeginProducts();
#pragma unroll
        for (int i = 0; i < kFirst; ++i) {
          hopper::MultiplyRegisters64x64(out, p[i],
                                         v.At(at + i * 2 * kOctetBytes), i > 0);
        }
        hopper::EndProducts();
      }
      hopper::WaitForProducts<1>();
      hopper::Products(softmax.s[1]);
      {
        Fragment p[kTiles - kFirst];
        if (row0 < queries) {
          softmax.Take<kFirst>(p, tokens, lanes);
        } else {
          softmax.Skip<kFirst>(p);
        }
        hopper::BeginProducts();
#pragma unroll
        for (int i = kFirst; i < kTiles; ++i) {
          hopper::MultiplyRegisters64x64(out, p[i - kFirst],
                                         v.At(at + i * 2 * kOctetBytes), true);
        }
        hopper::EndProducts();
        softmax.FinishSums();
        hopper::WaitForProducts<0>();
        hopper::Products(out);
      }
      if (row0 < queries) {
        SaveResults(out, softmax, lanes, maps.out, block % heads, row0,
                    block / heads, m->out[group][lanes.warp]);
        if (lanes.t == 0) {
          float* const sums =
              log_sum + static_cast<int64_t>(block) * kRows + row0 + lanes.g;
          sums[0] = softmax.top0 + __log2f(softmax.sum0);
          sums[8] = softmax.top1 + __log2f(softmax.sum1);
        }
      }
    }
    if (lanes.lane == 0) hopper::Arrive(&m->empty[place]);
  }
  // Shared memory must stay until it was read.
  if (lanes.lane == 0) hopper::WaitUntilSaved<0>();
}

// kTokens: the number of tokens if it is known, which makes masks free, else 0.
template <int kTokens>
__global__ void __launch_bounds__(kBlockThreads, 1)
    HopperAttentionKernel(const __grid_constant__ HopperMaps maps,
                          const QkNormRope a, int queries, int blocks,
                          float* __restrict__ log_sum,
                          float* __restrict__ rstd) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  HopperMemory* const m = reinterpret_cast<HopperMemory*>(bytes);
  const int tokens = kTokens > 0 ? kTokens : a.tokens;
  const HopperLanes lanes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kHeadsInMemory; ++i) {
      hopper::InitBarrier(&m->raw[i], 1);
      hopper::InitBarrier(&m->full[i], kNormerWarps);
      hopper::InitBarrier(&m->empty[i], kGroups * kGroupWarps);
    }
    hopper::FenceForEngines();
  }
  const bool safe = LoadTables(a, tokens, m);
  if (lanes.group >= kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kNormerRegisters));
    NormHeads(maps, a.heads, tokens, queries, blocks,
              (lanes.group - kGroups) * kGroupWarps + lanes.warp, lanes, m,
              rstd);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kGroupRegisters));
    Attend(maps, a.heads, tokens, queries, blocks, safe, lanes, m, log_sum);
  }
#endif
}

}  // namespace

bool HasHopperAttention() { return hopper::IsDevice(); }

void RunHopperAttention(const QkNormRope& a, int64_t queries, Bf16* qkv,
                        Bf16* mixed, float* log_sum, float* rstd,
                        cudaStream_t s) {
  const int64_t samples = a.rows / a.tokens, heads = samples * a.heads;
  HopperMaps maps;
  maps.in = hopper::MapOf(qkv, {3 * a.heads * kHead, a.tokens, samples},
                          {kHead, kRows, 1});
  maps.out = hopper::MapOf(mixed, {a.heads * kHead, queries, samples},
                           {kHead, kTile, 1});
  const auto kernel = a.tokens == kVitTokens ? HopperAttentionKernel<kVitTokens>
                                             : HopperAttentionKernel<0>;
  AllowShared(kernel, kHopperBytes);
  const int blocks = std::min<int64_t>(heads, hopper::Processors());
  kernel<<<blocks, kBlockThreads, kHopperBytes, s>>>(maps, a, queries, heads,
                                                     log_sum, rstd);
  Check("attention");
}

}  // namespace fused
}  // namespace feedrate
