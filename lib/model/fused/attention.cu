#include "lib/model/fused/attention.cuh"

namespace feedrate {
namespace fused {
namespace {

// Two blocks fit on a processor, with two tiles per warp.
constexpr int kBlockWarps = 7;

// Scores of a tile of queries with `kCount` tiles of keys from `kFirst` on,
// their share of the softmax, and the product of the probabilities with V.
struct RowState {
  float out[8][4] = {};
  // The largest score and the sum of powers, of row g and of row g + 8.
  float top0 = -INFINITY, top1 = -INFINITY;
  float sum0 = 0, sum1 = 0;
};

template <int kFirst, int kCount>
__device__ __forceinline__ void Attend(char* q_tile, char* k, char* v,
                                       int tokens, const Lanes& lanes,
                                       RowState* state) {
  float s[2 * kCount][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Fragment a;
    LoadMatrices(a, q_tile + lanes.Left(i));
    const char* const right = k + lanes.Right(i);
#pragma unroll
    for (int n = 0; n < kCount; ++n) {
      Fragment b;
      LoadMatrices(b, right + (kFirst + n) * kTileBytes);
      Multiply(s[2 * n], a, b[0], b[1]);
      Multiply(s[2 * n + 1], a, b[2], b[3]);
    }
  }
  float top0 = state->top0, top1 = state->top1;
#pragma unroll
  for (int j = 0; j < 2 * kCount; ++j) {
    const int column = kFirst * kTile + j * 8;
    if (column + 8 > tokens) {
      if (column + 2 * lanes.t >= tokens) s[j][0] = s[j][2] = -INFINITY;
      if (column + 2 * lanes.t + 1 >= tokens) s[j][1] = s[j][3] = -INFINITY;
    }
    top0 = fmaxf(top0, fmaxf(s[j][0], s[j][1]) * kScale2);
    top1 = fmaxf(top1, fmaxf(s[j][2], s[j][3]) * kScale2);
  }
  // A row lies in four lanes.
#pragma unroll
  for (int o = 1; o <= 2; o <<= 1) {
    top0 = fmaxf(top0, __shfl_xor_sync(~0u, top0, o));
    top1 = fmaxf(top1, __shfl_xor_sync(~0u, top1, o));
  }
  if (kFirst > 0) {
    const float shrink0 = PowerOf2(state->top0 - top0);
    const float shrink1 = PowerOf2(state->top1 - top1);
    state->sum0 *= shrink0;
    state->sum1 *= shrink1;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      state->out[j][0] *= shrink0;
      state->out[j][1] *= shrink0;
      state->out[j][2] *= shrink1;
      state->out[j][3] *= shrink1;
    }
  }
  state->top0 = top0;
  state->top1 = top1;
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    Fragment p;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float(&c)[4] = s[2 * n + j];
      const float p0 = PowerOf2(fmaf(c[0], kScale2, -top0));
      const float p1 = PowerOf2(fmaf(c[1], kScale2, -top0));
      const float p2 = PowerOf2(fmaf(c[2], kScale2, -top1));
      const float p3 = PowerOf2(fmaf(c[3], kScale2, -top1));
      state->sum0 += p0 + p1;
      state->sum1 += p2 + p3;
      p[2 * j] = Pack(p0, p1);
      p[2 * j + 1] = Pack(p2, p3);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Fragment b;
      LoadTransposed(b, v + lanes.Left(i) + (kFirst + n) * kTileBytes);
      Multiply(state->out[2 * i], p, b[0], b[1]);
      Multiply(state->out[2 * i + 1], p, b[2], b[3]);
    }
  }
}

// kTokens: the number of tokens if it is known, which makes masks free, else 0.
template <int kTokens>
__global__ void __launch_bounds__(kBlockWarps* kWarp, 2)
    ShortAttentionKernel(QkNormRope a, int queries, Bf16* __restrict__ mixed,
                         float* __restrict__ log_sum) {
  extern __shared__ __align__(128) char bytes[];
  char* const q = bytes;
  char* const k = q + kMatrix * sizeof(Bf16);
  char* const v = k + kMatrix * sizeof(Bf16);
  const HeadPlace place(a, blockIdx.x);
  const int tokens = kTokens > 0 ? kTokens : a.tokens;
  const int warp = threadIdx.x / kWarp;
  const Lanes lanes;

  {
    const Bf16* const in = a.qkv + place.first + lanes.column;
    uint2 raw[8][4];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int tile = warp + i / 4 * kBlockWarps;
      const int row = tile * kTile + lanes.row + i % 4 * 4;
      const bool inside = row < tokens;
      const Bf16* const from = in + row * place.stride;
      raw[i][0] = LoadRaw(from, inside);
      raw[i][1] = LoadRaw(from + kHalf, inside);
      raw[i][2] = LoadRaw(from + place.k, inside);
      raw[i][3] = LoadRaw(from + place.k + kHalf, inside);
    }
    for (int tile = warp; tile < kTiles; tile += kBlockWarps) {
      CopyValues(a, place, tile, lanes, v);
    }
    const LaneWeight q_weight(a.q_weight, lanes), k_weight(a.k_weight, lanes);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int tile = warp + i / 4 * kBlockWarps;
      if (tile >= kTiles) break;
      const int row = tile * kTile + lanes.row + i % 4 * 4;
      const Angles angles(a, row < tokens ? row : 0, lanes);
      const int to1 = tile * kTileBytes + lanes.Half(i % 4, 0);
      const int to2 = tile * kTileBytes + lanes.Half(i % 4, 1);
      NormRotate(Floats(raw[i][0]), Floats(raw[i][1]), q_weight, angles,
                 q + to1, q + to2);
      NormRotate(Floats(raw[i][2]), Floats(raw[i][3]), k_weight, angles,
                 k + to1, k + to2);
    }
  }
  WaitForCopies();
  __syncthreads();

  for (int tile = warp; tile * kTile < queries; tile += kBlockWarps) {
    char* const q_tile = q + tile * kTileBytes;
    // In two parts, whose scores fit in the registers.
    constexpr int kPart = kTiles / 2 + 1;
    RowState state;
    Attend<0, kPart>(q_tile, k, v, tokens, lanes, &state);
    Attend<kPart, kTiles - kPart>(q_tile, k, v, tokens, lanes, &state);
#pragma unroll
    for (int o = 1; o <= 2; o <<= 1) {
      state.sum0 += __shfl_xor_sync(~0u, state.sum0, o);
      state.sum1 += __shfl_xor_sync(~0u, state.sum1, o);
    }
    // Only this warp reads this tile of Q, and it has.
    __syncwarp();
    StoreTile(state.out, q_tile, __fdividef(1.f, state.sum0),
              __fdividef(1.f, state.sum1), lanes);
    __syncwarp();
    CopyTile(q_tile, tile * kTile, queries,
             mixed + (place.sample * queries * a.heads + place.head) * kHead,
             a.heads * kHead, lanes);
    if (lanes.t == 0) {
      float* const sums = log_sum + static_cast<int64_t>(blockIdx.x) * kRows;
      sums[tile * kTile + lanes.g] = state.top0 + __log2f(state.sum0);
      sums[tile * kTile + lanes.g + 8] = state.top1 + __log2f(state.sum1);
    }
  }
}

}  // namespace

void RunShortAttention(const QkNormRope& a, int64_t queries, Bf16* mixed,
                       float* log_sum, cudaStream_t s) {
  constexpr int kBytes = 3 * kMatrix * sizeof(Bf16);
  const auto kernel = a.tokens == kVitTokens ? ShortAttentionKernel<kVitTokens>
                                             : ShortAttentionKernel<0>;
  AllowShared(kernel, kBytes);
  kernel<<<a.rows / a.tokens * a.heads, kBlockWarps * kWarp, kBytes, s>>>(
      a, queries, mixed, log_sum);
  Check("attention");
}

}  // namespace fused
}  // namespace feedrate
