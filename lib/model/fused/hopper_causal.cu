// The forward pass: tiles of queries go over the keys that they see, whose
// scores and probabilities never leave registers.
#include "lib/model/fused/hopper_causal.cuh"

namespace feedrate {
namespace fused {
namespace {

// A tile of queries forward: the softmax without its largest score, which the
// norms bound, or by `search` with it.
__device__ __forceinline__ void TakeForward(const OwnTile& own, bool search,
                                            int end, uint64_t* own_empty,
                                            const Rows& q, Ring* ring) {
  const CausalJob& job = own.job;
  float shift[2] = {}, total[2] = {};
  Sums s[2], result;
  if (search) {
    shift[0] = shift[1] = -1e30f;
#pragma unroll 1
    for (int n = 0; n <= own.tile; ++n) {
      StartProduct<false>(ring->matrix, ring->First(0), q, false, s[0]);
      hopper::WaitForProducts<0>();
      hopper::Products(s[0]);
      ring->Free(0);
      ++ring->place.use;
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        if (n < own.tile || !own.Hidden<false>(i)) {
          shift[i / 2 % 2] = fmaxf(shift[i / 2 % 2], s[0][i] * kScale2);
        }
      }
    }
    ring->Skip(end - own.tile - 1);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      shift[i] = fmaxf(shift[i], __shfl_xor_sync(~0u, shift[i], 1));
      shift[i] = fmaxf(shift[i], __shfl_xor_sync(~0u, shift[i], 2));
    }
  }
  Rows p;
  const auto start = [&](int ahead, Sums& s) {
    StartProduct<false>(ring->matrix, ring->First(ahead), q, false, s);
  };
  const auto powers = [&](Sums& s, bool diagonal) {
    hopper::Products(s);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int j = i / 2 % 2;
      s[i] = PowerOf2(fmaf(s[i], kScale2, -shift[j]));
      if (diagonal && own.Hidden<false>(i)) s[i] = 0;
      total[j] += s[i];
    }
  };
  const auto finish = [&](int n, Sums& s) {
    if (n > 0) ring->Free(1);
    PackRows(s, p);
    StartProduct<true>(ring->matrix, ring->Bytes() + kRowTileBytes, p, n > 0,
                       result);
    ++ring->place.use;
  };
  start(0, s[0]);
  // Stands for the product of the tile before the first one.
  hopper::EndProducts();
#pragma unroll 1
  for (int n = 0; n < own.tile / 2 * 2; n += 2) {
    start(1, s[1]);
    hopper::WaitForProducts<2>();
    powers(s[0], false);
    hopper::WaitForProducts<1>();
    finish(n, s[0]);
    start(1, s[0]);
    hopper::WaitForProducts<2>();
    powers(s[1], false);
    hopper::WaitForProducts<1>();
    finish(n + 1, s[1]);
  }
  if (own.tile % 2 == 0) {
    hopper::WaitForProducts<0>();
    powers(s[0], true);
    finish(own.tile, s[0]);
  } else {
    start(1, s[1]);
    hopper::WaitForProducts<1>();
    powers(s[0], false);
    finish(own.tile - 1, s[0]);
    hopper::WaitForProducts<0>();
    powers(s[1], true);
    finish(own.tile, s[1]);
  }
  hopper::WaitForProducts<0>();
  hopper::Products(result);
  // Not before products have read them from registers: loads of these from
  // shared memory may be late, and the copy engine then is faster.
  hopper::Arrive(own_empty);
  ring->Free(1);
  ring->Skip(end - own.tile - 1);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const int row = own.Row(j);
    const bool inside = row < job.tokens;
    const float sum = RowSum(total[j]), factor = 1 / sum;
    if (inside && own.lanes.t == 0) {
      job.log_sum[job.RowsOf(own.block) + row] = shift[j] + log2f(sum);
    }
    StoreRow(job.mixed + (own.Token(j) * job.a.heads + own.Head()) * kHead,
             inside, own.lanes.t, [&](int i) {
               return Pack(result[4 * i + 2 * j] * factor,
                           result[4 * i + 2 * j + 1] * factor);
             });
  }
}

// Whether scores of rows with these weights could be too large for powers of
// two in fp32: rows are 8 long before they are weighted.
__device__ __forceinline__ bool TooLarge(const QkNormRope& a) {
  float largest[2] = {};
  for (int i = 0; i < kHead; ++i) {
    largest[0] = fmaxf(largest[0], fabsf(a.q_weight[i]));
    largest[1] = fmaxf(largest[1], fabsf(a.k_weight[i]));
  }
  return !(largest[0] * largest[1] * kHead * kScale2 < 100);
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    CausalAttentionKernel(const __grid_constant__ CausalMaps maps,
                          const __grid_constant__ CausalJob job) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(hopper::kTileAlignment) char bytes[];
  CausalMemory* const m = reinterpret_cast<CausalMemory*>(bytes);
  const bool search = TooLarge(job.a);
  TakeSets<Pass::kForward>(maps, job, search ? 2 : 1, m,
                           [&](const OwnTile& own, int end, const auto& read,
                               uint64_t* own_empty, Ring* ring) {
                             Rows q;
                             read(0, q);
                             TakeForward(own, search, end, own_empty, q, ring);
                           });
#endif
}

}  // namespace

void RunCausalAttention(const QkNormRope& a, Bf16* mixed, float* log_sum,
                        cudaStream_t s) {
  CausalMaps maps = {};
  maps.qkv = CausalMapOf(a, a.qkv, 3 * a.heads);
  CausalJob job(a);
  job.mixed = mixed;
  job.log_sum = log_sum;
  AllowShared(CausalAttentionKernel, kCausalBytes);
  CausalAttentionKernel<<<CausalBlocks(job), kBlockThreads, kCausalBytes, s>>>(
      maps, job);
  Check("causal attention");
}

}  // namespace fused
}  // namespace feedrate
