// The backward pass: one kernel goes over queries and gives the gradient of Q,
// one over keys for those of K and V. Both compute the scores, so that each sum
// has one owner and one order.
#include "lib/model/fused/hopper_causal.cuh"

namespace feedrate {
namespace fused {
namespace {

// Turns the gradient of normed and rotated rows into the one of what the
// product gave, writes that, and adds the gradient of the norm's weight, but
// for a factor, to `weight_sums`. `rows`: Q or K as it was multiplied.
__device__ __forceinline__ void StoreNormGradient(const OwnTile& own, int part,
                                                  const Rows& rows,
                                                  const Sums& gradient,
                                                  const CausalMemory& m,
                                                  float* weight_sums) {
  const QkNormRope& a = own.job.a;
  const int t = own.lanes.t;
  float sums[16] = {};
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const bool inside = own.Row(j) < own.job.tokens;
    const int row = min(own.Row(j), own.job.tokens - 1);
    float n[16], x[16], dot = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = row * kHead + 8 * i + 2 * t;
      const float2 cos = *reinterpret_cast<const float2*>(a.cos + at);
      const float2 sin = *reinterpret_cast<const float2*>(a.sin + at);
      const float2 y1 = PairOf(rows, i, j), y2 = PairOf(rows, i + 4, j);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float c = e == 0 ? cos.x : cos.y, s = e == 0 ? sin.x : sin.y;
        const float z1 = e == 0 ? y1.x : y1.y, z2 = e == 0 ? y2.x : y2.y;
        const float g1 = gradient[4 * i + 2 * j + e];
        const float g2 = gradient[16 + 4 * i + 2 * j + e];
        // A rotation's gradient is turned back by the same angle, and so is
        // what was rotated.
        n[2 * i + e] = g1 * c + g2 * s;
        n[8 + 2 * i + e] = g2 * c - g1 * s;
        x[2 * i + e] = z1 * c + z2 * s;
        x[8 + 2 * i + e] = z2 * c - z1 * s;
      }
    }
    // Weights and their inverses cancel.
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float product = n[k] * x[k];
      dot += product;
      if (inside) sums[k] += product;
    }
    dot = RowSum(dot) * (1.f / kHead);
    const float rstd =
        inside ? own.job.rstd[(own.Token(j) * 2 + part) * a.heads + own.Head()]
               : 0;
    const float factor = rstd * kScale;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int c = k / 2 * 8 + 2 * t + k % 2;
      n[k] = (n[k] * m.weights[c] - x[k] * (m.inverses[c] * dot)) * factor;
    }
    StoreRow(own.Gradient(part, j), inside, t,
             [&](int i) { return Pack(n[2 * i], n[2 * i + 1]); });
  }
  HalveSums<8, 16>(sums);
  HalveSums<4, 8>(sums);
  HalveSums<2, 4>(sums);
  // Lane 4 g + t has columns 8 g + 2 t and the next.
  weight_sums[0] += sums[0];
  weight_sums[1] += sums[1];
}

// A tile of queries backward: finds the dot product of each row of the result
// and its gradient, and the gradient of Q.
__device__ __forceinline__ void TakeQueries(const OwnTile& own, const Rows& q,
                                            const Rows& gradient,
                                            const float (&log_sum)[2],
                                            const float (&dot)[2], int end,
                                            Ring* ring, Sums& dq) {
  Sums s[2], ds;
  Rows p;
  const auto start_scores = [&](int ahead, Sums& s) {
    StartProduct<false>(ring->matrix, ring->First(ahead), q, false, s);
  };
  const auto start_gradients = [&] {
    StartProduct<false>(ring->matrix, ring->Bytes() + kRowTileBytes, gradient,
                        false, ds);
  };
  const auto powers = [&](Sums& s, bool diagonal) {
    hopper::Products(s);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      s[i] = PowerOf2(fmaf(s[i], kScale2, -log_sum[i / 2 % 2]));
      if (diagonal && own.Hidden<false>(i)) s[i] = 0;
    }
  };
  const auto finish = [&](int n, const Sums& s) {
    hopper::Products(ds);
    if (n > 0) ring->Free(1);
#pragma unroll
    for (int i = 0; i < 32; ++i) ds[i] = s[i] * (ds[i] - dot[i / 2 % 2]);
    PackRows(ds, p);
    StartProduct<true>(ring->matrix, ring->Bytes(), p, n > 0, dq);
    ++ring->place.use;
  };
  start_scores(0, s[0]);
  // Stands for the product of the tile before the first one.
  hopper::EndProducts();
  start_gradients();
#pragma unroll 1
  for (int n = 0; n < own.tile / 2 * 2; n += 2) {
    start_scores(1, s[1]);
    hopper::WaitForProducts<3>();
    powers(s[0], false);
    hopper::WaitForProducts<1>();
    finish(n, s[0]);
    start_gradients();
    start_scores(1, s[0]);
    hopper::WaitForProducts<3>();
    powers(s[1], false);
    hopper::WaitForProducts<1>();
    finish(n + 1, s[1]);
    start_gradients();
  }
  if (own.tile % 2 == 0) {
    hopper::WaitForProducts<0>();
    powers(s[0], true);
    finish(own.tile, s[0]);
  } else {
    start_scores(1, s[1]);
    hopper::WaitForProducts<1>();
    powers(s[0], false);
    finish(own.tile - 1, s[0]);
    start_gradients();
    hopper::WaitForProducts<0>();
    powers(s[1], true);
    finish(own.tile, s[1]);
  }
  hopper::WaitForProducts<0>();
  hopper::Products(dq);
  ring->Free(1);
  ring->Skip(end - own.tile - 1);
}

// A tile of keys: the gradients of K and V.
__device__ __forceinline__ void TakeKeys(const OwnTile& own, const Rows& k,
                                         const Rows& v, Ring* ring, Sums& dk,
                                         Sums& dv) {
  const int end = own.job.tiles;
  ring->Skip(own.lanes.group);
  Sums s, ds;
  Rows p, q;
  const auto start = [&](int tile) {
    StartProduct<false>(ring->matrix, tile, k, false, s);
    StartProduct<false>(ring->matrix, tile + kRowTileBytes, v, false, ds);
  };
  int tile = ring->First(0);
  start(tile);
#pragma unroll 1
  for (int n = own.tile;;) {
    // Of a lane's columns 2 i and 2 i + 1.
    const float4* const numbers =
        reinterpret_cast<const float4*>(ring->m->numbers[ring->place.Stage()]) +
        own.lanes.t;
    hopper::WaitForProducts<1>();
    hopper::Products(s);
    if (n > own.tile) ring->Free(1);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 row = numbers[4 * i];
#pragma unroll
      for (int j = 4 * i; j < 4 * i + 4; ++j) {
        s[j] = PowerOf2(fmaf(s[j], kScale2, -(j % 2 == 0 ? row.x : row.z)));
      }
    }
    if (n == own.tile) {
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        if (own.Hidden<true>(i)) s[i] = 0;
      }
    }
    PackRows(s, p);
    StartProduct<true>(ring->matrix, tile + kRowTileBytes, p, n > own.tile, dv);
    hopper::WaitForProducts<1>();
    hopper::Products(ds);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 row = numbers[4 * i];
#pragma unroll
      for (int j = 4 * i; j < 4 * i + 4; ++j) {
        ds[j] = s[j] * (ds[j] - (j % 2 == 0 ? row.y : row.w));
      }
    }
    PackRows(ds, q);
    StartProduct<true>(ring->matrix, tile, q, n > own.tile, dk);
    ++ring->place.use;
    if (++n == end) break;
    tile = ring->First(0);
    start(tile);
  }
  hopper::WaitForProducts<0>();
  hopper::Products(dk);
  hopper::Products(dv);
  ring->Free(1);
}

// What a query's rows need besides: the log of the softmax's sum, and the dot
// product of the result and its gradient. Writes them for the pass over keys.
struct QueryNumbers {
  __device__ QueryNumbers(const OwnTile& own, const Rows& result,
                          const Rows& gradient) {
    const CausalJob& job = own.job;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      // A row that is not there has probability 0, and gradients of 0.
      const int64_t at = job.RowsOf(own.block) + own.Row(j);
      log_sum[j] = own.Row(j) < job.tokens ? job.log_sum[at] : 1e30f;
      dot[j] = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 x = PairOf(result, i, j), y = PairOf(gradient, i, j);
        dot[j] = fmaf(x.x, y.x, fmaf(x.y, y.y, dot[j]));
      }
      dot[j] = RowSum(dot[j]);
      if (own.lanes.t == 0) {
        job.numbers[at] = make_float2(log_sum[j], dot[j]);
      }
    }
  }
  float log_sum[2], dot[2];
};

template <Pass kPass>
__global__ void __launch_bounds__(kBlockThreads, 1)
    CausalBackwardKernel(const __grid_constant__ CausalMaps maps,
                         const __grid_constant__ CausalJob job,
                         float* partial) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  CausalMemory* const m = reinterpret_cast<CausalMemory*>(bytes);
  constexpr int kWarpsThatSum = kGroups * kGroupWarps;
  float* const weight_sums =
      m->sums[threadIdx.x / kWarp % kWarpsThatSum] + 2 * (threadIdx.x % kWarp);
  if (threadIdx.x < kHead) {
    const float* const weight =
        kPass == Pass::kQueries ? job.a.q_weight : job.a.k_weight;
    m->weights[threadIdx.x] = NotZero(weight[threadIdx.x]);
    m->inverses[threadIdx.x] = 1 / m->weights[threadIdx.x];
  }
  if (threadIdx.x < kWarpsThatSum * kWarp) {
    weight_sums[0] = weight_sums[1] = 0;
  }
  TakeSets<kPass>(maps, job, 1, m,
                  [&](const OwnTile& own, int end, const auto& read,
                      uint64_t* own_empty, Ring* ring) {
                    Rows first, second;
                    read(0, first);
                    read(1, second);
                    if constexpr (kPass == Pass::kQueries) {
                      Rows result;
                      read(2, result);
                      const QueryNumbers numbers(own, result, second);
                      Sums dq;
                      TakeQueries(own, first, second, numbers.log_sum,
                                  numbers.dot, end, ring, dq);
                      hopper::Arrive(own_empty);
                      StoreNormGradient(own, 0, first, dq, *m, weight_sums);
                    } else {
                      Sums dk, dv;
                      TakeKeys(own, first, second, ring, dk, dv);
                      hopper::Arrive(own_empty);
#pragma unroll
                      for (int j = 0; j < 2; ++j) {
                        StoreRow(own.Gradient(2, j), own.Row(j) < job.tokens,
                                 own.lanes.t, [&](int i) {
                                   return Pack(dv[4 * i + 2 * j],
                                               dv[4 * i + 2 * j + 1]);
                                 });
                      }
                      StoreNormGradient(own, 1, first, dk, *m, weight_sums);
                    }
                  });
  if (threadIdx.x < kHead) {
    float sum = 0;
    for (int w = 0; w < kWarpsThatSum; ++w) sum += m->sums[w][threadIdx.x];
    partial[blockIdx.x * kHead + threadIdx.x] =
        sum * kScale * m->inverses[threadIdx.x];
  }
#endif
}

template <Pass kPass>
void Launch(const CausalMaps& maps, const CausalJob& job, float* dweight,
            SumList* sums, bool accumulate, cudaStream_t s) {
  const auto kernel = CausalBackwardKernel<kPass>;
  AllowShared(kernel, kCausalBytes);
  const int blocks = CausalBlocks(job);
  float* const partial = sums->Take(blocks * kHead);
  kernel<<<blocks, kBlockThreads, kCausalBytes, s>>>(maps, job, partial);
  Check("causal attention, backward");
  sums->Add(partial, blocks, kHead, kHead, dweight, accumulate);
}

}  // namespace

void RunCausalAttentionBackward(const QkNormRope& a,
                                const CausalForward& forward,
                                const Bf16* dmixed, float* numbers, Bf16* dqkv,
                                float* dq_weight, float* dk_weight,
                                SumList* sums, bool accumulate,
                                cudaStream_t s) {
  const CausalMaps maps = {CausalMapOf(a, a.qkv, 3 * a.heads),
                           CausalMapOf(a, forward.mixed, a.heads),
                           CausalMapOf(a, dmixed, a.heads)};
  CausalJob job(a);
  job.log_sum = const_cast<float*>(forward.log_sum);
  job.numbers = reinterpret_cast<float2*>(numbers);
  job.rstd = forward.rstd;
  job.dqkv = dqkv;
  Launch<Pass::kQueries>(maps, job, dq_weight, sums, accumulate, s);
  Launch<Pass::kKeys>(maps, job, dk_weight, sums, accumulate, s);
}

}  // namespace fused
}  // namespace feedrate
