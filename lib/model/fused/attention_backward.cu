#include <algorithm>
#include <cstdint>

#include "lib/model/fused/attention.cuh"

namespace feedrate {
namespace fused {
namespace {

// One block per processor, which goes from head to head, with one tile of keys
// and one of queries per warp.
constexpr int kBackwardWarps = kTiles;
// Values per row of the gradient of the scores. The eight rows that ldmatrix
// reads at once lie in different banks.
constexpr int kPitch = kRows + 8;

struct BackwardMemory {
  Bf16 q[kMatrix];
  Bf16 v[kMatrix];
  Bf16 dmixed[kMatrix];
  // K of this head and of the next one.
  Bf16 k[2][kMatrix];
  // Gradient of the scores: keys x queries.
  Bf16 ds[kRows * kPitch];
  float log_sum[kRows];
  // The dot product of each row of the gradient with its row of the result.
  float dot[kRows];
  // Gradients of the weights of both norms.
  float weight_sums[kBackwardWarps][2][kHead];
};

// What the backward pass reads besides.
struct BackwardInputs {
  const Bf16* mixed;
  const Bf16* dmixed;
  const float* log_sum;
  int queries;
};

__device__ __forceinline__ char* Bytes(const Bf16* p) {
  return reinterpret_cast<char*>(const_cast<Bf16*>(p));
}

// Makes memory that is read soon come nearer.
__device__ __forceinline__ void Prefetch(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

// Where a lane's part of row `row` of the result, or of its gradient, lies.
__device__ __forceinline__ int64_t ResultPlace(const QkNormRope& a,
                                               const BackwardInputs& b,
                                               const HeadPlace& place, int row,
                                               const Lanes& lanes) {
  return ((place.sample * b.queries + row) * a.heads + place.head) * kHead +
         (lanes.lane & 7) * 8;
}

// Starts the copies of Q, K and the gradient. The rest but V is only brought
// nearer: registers that wait for it would not be there for the sums.
__device__ __forceinline__ void StartLoading(const QkNormRope& a,
                                             const BackwardInputs& b,
                                             int64_t block, int tile, Bf16* k,
                                             const Lanes& lanes,
                                             BackwardMemory* m) {
  const HeadPlace place(a, block);
  const Bf16* const in = a.qkv + place.first + (lanes.lane & 7) * 8;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = tile * kTile + lanes.row + 4 * i;
    const int to = tile * kTileBytes + lanes.Sixteen(i);
    const bool inside = row < a.tokens, asked = row < b.queries;
    const Bf16* const from = in + (inside ? row : 0) * place.stride;
    CopyAsync(Bytes(m->q) + to, from, inside);
    CopyAsync(Bytes(k) + to, from + place.k, inside);
    const int64_t at = ResultPlace(a, b, place, asked ? row : 0, lanes);
    CopyAsync(Bytes(m->dmixed) + to, b.dmixed + at, asked);
    Prefetch(b.mixed + at);
  }
}

// Norms and rotates the rows of a tile of Q and of K where they are.
__device__ __forceinline__ void NormRotateTile(const QkNormRope& a, int tile,
                                               char* q, char* k,
                                               const Lanes& lanes) {
  const LaneWeight q_weight(a.q_weight, lanes), k_weight(a.k_weight, lanes);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = tile * kTile + lanes.row + 4 * i;
    const Angles angles(a, row < a.tokens ? row : 0, lanes);
    const int at1 = tile * kTileBytes + lanes.Half(i, 0);
    const int at2 = tile * kTileBytes + lanes.Half(i, 1);
    NormRotate(Load(&Value<Bf16>(q + at1)), Load(&Value<Bf16>(q + at2)),
               q_weight, angles, q + at1, q + at2);
    NormRotate(Load(&Value<Bf16>(k + at1)), Load(&Value<Bf16>(k + at2)),
               k_weight, angles, k + at1, k + at2);
  }
}

// Waits for what StartLoading began, and after it CopyValues.
__device__ __forceinline__ void FinishLoading(const QkNormRope& a,
                                              const BackwardInputs& b,
                                              int64_t block, int tile, Bf16* k,
                                              const Lanes& lanes,
                                              BackwardMemory* m) {
  const HeadPlace place(a, block);
  uint4 mixed[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = tile * kTile + lanes.row + 4 * i;
    mixed[i] = *reinterpret_cast<const uint4*>(
        b.mixed + ResultPlace(a, b, place, row < b.queries ? row : 0, lanes));
  }
  if (lanes.lane < kTile) {
    const int row = tile * kTile + lanes.lane;
    // A row that is not there has probability 0.
    m->log_sum[row] = row < b.queries ? b.log_sum[block * kRows + row] : 1e30f;
  }
  // All but the last group of copies: V.
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncwarp();
  NormRotateTile(a, tile, Bytes(m->q), Bytes(k), lanes);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    char* const at = Bytes(m->dmixed) + tile * kTileBytes + lanes.Sixteen(i);
    const Bf16* const gradient = &Value<Bf16>(at);
    const Bf16* const result = reinterpret_cast<const Bf16*>(&mixed[i]);
    const float dot = HeadSum(Sum(Load(gradient) * Load(result)) +
                              Sum(Load(gradient + 4) * Load(result + 4)));
    if (lanes.column == 0) m->dot[tile * kTile + lanes.row + 4 * i] = dot;
  }
  WaitForCopies();
}

__device__ __forceinline__ float2 LoadPair(const float* p) {
  return *reinterpret_cast<const float2*>(p);
}

// What the product gave for the rows of a tile, as eight lanes per row have it.
struct RawTile {
  uint2 half[4][2];
};
__device__ __forceinline__ RawTile LoadRawTile(const Bf16* in, int64_t stride,
                                               int row0, int tokens,
                                               const Lanes& lanes) {
  RawTile raw;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + lanes.row + 4 * i;
    const Bf16* const from = in + row * stride + lanes.column;
    raw.half[i][0] = LoadRaw(from, row < tokens);
    raw.half[i][1] = LoadRaw(from + kHalf, row < tokens);
  }
  return raw;
}

// Turns the gradient of normed and rotated rows of a tile into the one of what
// the product gave, writes that, and adds the gradient of the norm's weight to
// `weight_sums`.
__device__ __forceinline__ void StoreNormGradient(
    const QkNormRope& a, char* tile, const RawTile& raw, Bf16* out,
    const float* weight, int row0, int64_t stride, const Lanes& lanes,
    float* weight_sums) {
  const LaneWeight w(weight, lanes);
  float4 sums[2] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = row0 + lanes.row + 4 * i;
    const bool inside = row < a.tokens;
    const Angles angles(a, inside ? row : 0, lanes);
    const float4 g1 = Load(&Value<Bf16>(tile + lanes.Half(i, 0)));
    const float4 g2 = Load(&Value<Bf16>(tile + lanes.Half(i, 1)));
    float4 x1 = Floats(raw.half[i][0]), x2 = Floats(raw.half[i][1]);
    // A rotation's gradient is turned back by the same angle.
    float4 n1 = g1 * angles.cos + g2 * angles.sin;
    float4 n2 = g2 * angles.cos - g1 * angles.sin;
    const float rstd =
        rsqrtf(HeadSum(Sum(x1 * x1) + Sum(x2 * x2)) / kHead + kEpsilon);
    x1 = x1 * rstd;
    x2 = x2 * rstd;
    sums[0] = sums[0] + n1 * x1;
    sums[1] = sums[1] + n2 * x2;
    n1 = n1 * w.first;
    n2 = n2 * w.second;
    const float dot = HeadSum(Sum(n1 * x1) + Sum(n2 * x2)) / kHead;
    if (inside) {
      Bf16* const to = out + row * stride + lanes.column;
      Store(to, (n1 - x1 * dot) * rstd);
      Store(to + kHalf, (n2 - x2 * dot) * rstd);
    }
  }
  // Over the four rows that a warp had at a time.
  float* const values = &sums[0].x;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    values[i] += __shfl_xor_sync(~0u, values[i], 8);
    values[i] += __shfl_xor_sync(~0u, values[i], 16);
  }
  if (lanes.row == 0) {
    float* const to = weight_sums + lanes.column;
    Store(to, Load(to) + sums[0]);
    Store(to + kHalf, Load(to + kHalf) + sums[1]);
  }
}

// Gradients of a tile of K and V, and of its scores.
__device__ __forceinline__ void KeyGradients(int tokens, int tile, int chunks,
                                             const Bf16* k, const Lanes& lanes,
                                             BackwardMemory* m,
                                             float (&dk)[8][4],
                                             float (&dv)[8][4]) {
  char* const q = Bytes(m->q);
  char* const dmixed = Bytes(m->dmixed);
  Fragment keys[4], values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = tile * kTileBytes + lanes.Left(i);
    LoadMatrices(keys[i], Bytes(k) + at);
    LoadMatrices(values[i], Bytes(m->v) + at);
  }
  const int row = tile * kTile + lanes.g;
  Bf16* ds_to = m->ds + row * kPitch + 2 * lanes.t;
#pragma unroll 1
  for (int chunk = 0; chunk < chunks; ++chunk) {
    int left = lanes.left, right = lanes.right;
    asm volatile("" : "+r"(left), "+r"(right));
    const int query = chunk * kTileBytes;
    // Transposed: keys x queries.
    float s[2][4] = {}, dp[2][4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Fragment b;
      LoadMatrices(b, q + query + (right ^ (i << 5)));
      Multiply(s[0], keys[i], b[0], b[1]);
      Multiply(s[1], keys[i], b[2], b[3]);
      LoadMatrices(b, dmixed + query + (right ^ (i << 5)));
      Multiply(dp[0], values[i], b[0], b[1]);
      Multiply(dp[1], values[i], b[2], b[3]);
    }
    Fragment p, ds;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int column = chunk * kTile + j * 8 + 2 * lanes.t;
      const float2 sum = LoadPair(m->log_sum + column);
      const float2 dot = LoadPair(m->dot + column);
      float p4[4];
      p4[0] = PowerOf2(fmaf(s[j][0], kScale2, -sum.x));
      p4[1] = PowerOf2(fmaf(s[j][1], kScale2, -sum.y));
      p4[2] = PowerOf2(fmaf(s[j][2], kScale2, -sum.x));
      p4[3] = PowerOf2(fmaf(s[j][3], kScale2, -sum.y));
      if (tile * kTile + kTile > tokens) {
        if (row >= tokens) p4[0] = p4[1] = 0;
        if (row + 8 >= tokens) p4[2] = p4[3] = 0;
      }
      p[2 * j] = Pack(p4[0], p4[1]);
      p[2 * j + 1] = Pack(p4[2], p4[3]);
      // Without the scale of scores, which the sums get at the end.
      ds[2 * j] = Pack(p4[0] * (dp[j][0] - dot.x), p4[1] * (dp[j][1] - dot.y));
      ds[2 * j + 1] =
          Pack(p4[2] * (dp[j][2] - dot.x), p4[3] * (dp[j][3] - dot.y));
      *reinterpret_cast<uint32_t*>(ds_to + j * 8) = ds[2 * j];
      *reinterpret_cast<uint32_t*>(ds_to + j * 8 + 8 * kPitch) = ds[2 * j + 1];
    }
    ds_to += kTile;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Fragment b;
      LoadTransposed(b, dmixed + query + (left ^ (i << 5)));
      Multiply(dv[2 * i], p, b[0], b[1]);
      Multiply(dv[2 * i + 1], p, b[2], b[3]);
      LoadTransposed(b, q + query + (left ^ (i << 5)));
      Multiply(dk[2 * i], ds, b[0], b[1]);
      Multiply(dk[2 * i + 1], ds, b[2], b[3]);
    }
  }
}

// Gradient of a tile of Q.
__device__ __forceinline__ void QueryGradients(int tile, const Bf16* k,
                                               const Lanes& lanes,
                                               BackwardMemory* m,
                                               float (&dq)[8][4]) {
  const Bf16* const from =
      m->ds + ((lanes.lane & 7) + ((lanes.lane >> 4) << 3)) * kPitch +
      tile * kTile + (((lanes.lane >> 3) & 1) << 3);
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    Fragment ds;
    LoadTransposed(ds, Bytes(from + n * kTile * kPitch));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Fragment b;
      LoadTransposed(b, Bytes(k) + lanes.Left(i) + n * kTileBytes);
      Multiply(dq[2 * i], ds, b[0], b[1]);
      Multiply(dq[2 * i + 1], ds, b[2], b[3]);
    }
  }
}

template <int kTokens>
__global__ void __launch_bounds__(kBackwardWarps* kWarp, 1)
    ShortAttentionBackwardKernel(QkNormRope a, BackwardInputs inputs,
                                 int blocks, Bf16* __restrict__ dqkv,
                                 float* partial) {
  extern __shared__ __align__(128) char bytes[];
  BackwardMemory* const m = reinterpret_cast<BackwardMemory*>(bytes);
  if (kTokens > 0) a.tokens = kTokens;
  const int tile = threadIdx.x / kWarp;
  const int chunks = (inputs.queries + kTile - 1) / kTile;
  float* const sums = m->weight_sums[tile][0];
  for (int i = threadIdx.x % kWarp; i < 2 * kHead; i += kWarp) sums[i] = 0;
  int buffer = 0;
  StartLoading(a, inputs, blockIdx.x, tile, m->k[0], Lanes(), m);
  EndGroup();
  CopyValues(a, HeadPlace(a, blockIdx.x), tile, Lanes(), Bytes(m->v));
  EndGroup();
  char* const v_tile = Bytes(m->v) + tile * kTileBytes;
  for (int block = blockIdx.x; block < blocks; block += gridDim.x) {
    Bf16* const k = m->k[buffer];
    FinishLoading(a, inputs, block, tile, k, Lanes(), m);
    __syncthreads();
    const int next = block + gridDim.x;
    float sum[8][4] = {};
    RawTile raw;
    {
      float dv[8][4] = {};
      KeyGradients(a.tokens, tile, chunks, k, Lanes(), m, sum, dv);
      __syncthreads();
      // Nobody reads Q and the gradient any more: the next ones may come. Only
      // this warp reads this tile of V: it serves for what is written.
      buffer ^= 1;
      const Lanes lanes;
      if (next < blocks) {
        StartLoading(a, inputs, next, tile, m->k[buffer], lanes, m);
      }
      EndGroup();
      const HeadPlace place(a, block);
      raw = LoadRawTile(a.qkv + place.first + place.k, place.stride,
                        tile * kTile, a.tokens, lanes);
      StoreTile(dv, v_tile, 1, 1, lanes);
      __syncwarp();
      CopyTile(v_tile, tile * kTile, a.tokens, dqkv + place.first + 2 * place.k,
               place.stride, lanes);
      __syncwarp();
    }
#pragma unroll 1
    for (int part = 1; part >= 0; --part) {
      const Lanes lanes;
      const HeadPlace place(a, block);
      const int64_t at = place.first + part * place.k;
      if (part == 0) {
        raw = LoadRawTile(a.qkv + at, place.stride, tile * kTile, a.tokens,
                          lanes);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          sum[j][0] = sum[j][1] = sum[j][2] = sum[j][3] = 0;
        }
        if (tile < chunks) QueryGradients(tile, k, lanes, m, sum);
      }
      StoreTile(sum, v_tile, kScale, kScale, lanes);
      __syncwarp();
      StoreNormGradient(a, v_tile, raw, dqkv + at,
                        part == 0 ? a.q_weight : a.k_weight, tile * kTile,
                        place.stride, lanes, sums + part * kHead);
      __syncwarp();
    }
    if (next < blocks) {
      CopyValues(a, HeadPlace(a, next), tile, Lanes(), Bytes(m->v));
    }
    EndGroup();
  }
  __syncthreads();
  if (threadIdx.x < 2 * kHead) {
    float sum = 0;
    for (int w = 0; w < kBackwardWarps; ++w) {
      sum += m->weight_sums[w][0][threadIdx.x];
    }
    partial[static_cast<int64_t>(blockIdx.x) * 2 * kHead + threadIdx.x] = sum;
  }
}

int Processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace

void RunShortAttentionBackward(const QkNormRope& a, int64_t queries,
                               const Bf16* mixed, const float* log_sum,
                               const Bf16* dmixed, Bf16* dqkv, float* dq_weight,
                               float* dk_weight, SumList* sums, bool accumulate,
                               cudaStream_t s) {
  const auto kernel = a.tokens == kVitTokens
                          ? ShortAttentionBackwardKernel<kVitTokens>
                          : ShortAttentionBackwardKernel<0>;
  AllowShared(kernel, sizeof(BackwardMemory));
  const int64_t heads = a.rows / a.tokens * a.heads;
  const int blocks = std::min<int64_t>(heads, Processors());
  float* const partial = sums->Take(blocks * 2 * kHead);
  const BackwardInputs inputs = {mixed, dmixed, log_sum,
                                 static_cast<int>(queries)};
  kernel<<<blocks, kBackwardWarps * kWarp, sizeof(BackwardMemory), s>>>(
      a, inputs, heads, dqkv, partial);
  Check("attention, backward");
  sums->Add(partial, blocks, 2 * kHead, kHead, dq_weight, accumulate);
  sums->Add(partial + kHead, blocks, 2 * kHead, kHead, dk_weight, accumulate);
}

}  // namespace fused
}  // namespace feedrate
