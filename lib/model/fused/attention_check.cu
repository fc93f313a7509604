// Holds attention against double precision on the host, and times it.
#include <functional>
#include <string>

#include "lib/model/fused/check_support.cuh"
#include "lib/model/fused/hopper_attention.h"
#include "lib/model/fused/hopper_causal.h"

namespace feedrate {
namespace fused {
namespace {

// One head of Q or K of one token, normed and rotated; and the way back.
struct HostHead {
  std::vector<double> x, w, cos, sin;
  double Rstd() const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    return 1 / std::sqrt(squares / 64 + 1e-6);
  }
  std::vector<double> Forward() const {
    const double rstd = Rstd();
    std::vector<double> out(64);
    for (int c = 0; c < 32; ++c) {
      const double a = x[c] * rstd * w[c], b = x[c + 32] * rstd * w[c + 32];
      out[c] = a * cos[c] - b * sin[c];
      out[c + 32] = b * cos[c] + a * sin[c];
    }
    return out;
  }
  // Returns the gradient of x; adds to that of w.
  std::vector<double> Backward(const double* g, double* dw) const {
    const double rstd = Rstd();
    std::vector<double> n(64), out(64);
    double dot = 0;
    for (int c = 0; c < 32; ++c) {
      n[c] = g[c] * cos[c] + g[c + 32] * sin[c];
      n[c + 32] = g[c + 32] * cos[c] - g[c] * sin[c];
    }
    for (int c = 0; c < 64; ++c) {
      dw[c] += n[c] * x[c] * rstd;
      dot += n[c] * w[c] * x[c] * rstd / 64;
    }
    for (int c = 0; c < 64; ++c) {
      out[c] = (n[c] * w[c] - x[c] * rstd * dot) * rstd;
    }
    return out;
  }
};

// Q, K or V of values that have all three.
std::vector<double> PartOf(const std::vector<double>& all, int64_t width,
                           int part) {
  std::vector<double> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int64_t>(i / width) % 3 == part) out.push_back(all[i]);
  }
  return out;
}

// What one of the kernels of the backward pass needs, and gives: gradients of
// Q, K and V, and of the weights of both norms.
struct BackwardPass {
  const AttentionSizes& z;
  const QkNormRope& a;
  const Bf16* dmixed;
  const std::vector<double>&want, &want_q_w, &want_k_w;
};
// Writes dqkv, dq_weight and dk_weight.
using Backward = std::function<void(Bf16*, float*, float*, SumList*)>;

void CheckBackward(const char* name, const BackwardPass& pass,
                   const Backward& run) {
  CheckBuffer<Bf16> d_dqkv(pass.want.size());
  CheckBuffer<float> d_q_w(64), d_k_w(64);
  CheckSums sums;
  const auto backward = [&] {
    run(d_dqkv, d_q_w, d_k_w, &sums);
    sums.Run(nullptr);
    cudaDeviceSynchronize();
    Check("attention, backward");
    return d_dqkv.Read();
  };
  const std::vector<double> got = backward();
  const auto hold = [&](const char* what, const std::vector<double>& mine,
                        const std::vector<double>& theirs) {
    Hold((std::string("  gradient of ") + what + name).c_str(), mine, theirs,
         2e-2);
  };
  const int64_t width = pass.z.heads * 64;
  const char* const parts[] = {"Q", "K", "V"};
  for (int part = 0; part < 3; ++part) {
    hold(parts[part], PartOf(got, width, part), PartOf(pass.want, width, part));
  }
  const std::vector<double> got_q_w = d_q_w.Read(), got_k_w = d_k_w.Read();
  hold("Q's norm", got_q_w, pass.want_q_w);
  hold("K's norm", got_k_w, pass.want_k_w);
  if (backward() != got || d_q_w.Read() != got_q_w || d_k_w.Read() != got_k_w) {
    std::printf("  two runs differ  <-- WRONG\n");
    ++failures;
  }
}

// Hopper's kernels; the forward one against the other one's log sums, and
// `mixed`.
void CheckHopper(const BackwardPass& pass, const std::vector<double>& mixed,
                 const std::vector<double>& log_sum) {
  if (!HasHopperAttention()) {
    std::printf("  on Hopper: not on this GPU\n");
    return;
  }
  const AttentionSizes& z = pass.z;
  const size_t count = pass.a.rows * z.heads * 64;
  CheckBuffer<Bf16> d_mixed(mixed.size()), d_qkv(3 * count);
  CheckBuffer<float> d_log(log_sum.size()),
      d_rstd(std::vector<float>(2 * log_sum.size()));
  QkNormRope a = pass.a;
  a.qkv = d_qkv;
  const auto run = [&] {
    cudaMemcpy(d_qkv, pass.a.qkv, 6 * count, cudaMemcpyDefault);
    RunHopperAttention(a, z.queries, d_qkv, d_mixed, d_log, d_rstd, nullptr);
    cudaDeviceSynchronize();
    Check("attention");
    return d_mixed.Read();
  };
  const std::vector<double> got = run();
  Hold("  result, Hopper", got, mixed, 1e-2);
  // The log sums of queries; nothing reads those of other rows.
  const auto asked = [&](const std::vector<double>& all) {
    std::vector<double> some;
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int64_t>(i % kShortTokens) < z.queries) {
        some.push_back(all[i]);
      }
    }
    return some;
  };
  const std::vector<double> got_log = asked(d_log.Read());
  Hold("  sums of the softmax, Hopper", got_log, asked(log_sum), 1e-4);
  if (run() != got || asked(d_log.Read()) != got_log) {
    std::printf("  two runs differ  <-- WRONG\n");
    ++failures;
  }
  CheckBackward(", Hopper", pass,
                [&](Bf16* dqkv, float* dq_w, float* dk_w, SumList* sums) {
                  RunHopperAttentionBackward(
                      a, z.queries, {d_mixed, d_log, d_rstd}, pass.dmixed, dqkv,
                      dq_w, dk_w, sums, false, nullptr);
                });
}

// Attention of texts on a Hopper.
void CheckCausal(const BackwardPass& pass, const std::vector<double>& mixed) {
  const AttentionSizes& z = pass.z;
  const size_t count = pass.a.rows * z.heads * 64;
  const int64_t numbers = z.batch * z.heads * CausalTokens(z.tokens);
  CheckBuffer<Bf16> d_mixed(mixed.size()), d_qkv(3 * count);
  CheckBuffer<float> d_log(numbers), d_numbers(2 * numbers),
      d_rstd(2 * pass.a.rows * z.heads);
  cudaMemcpy(d_qkv, pass.a.qkv, 6 * count, cudaMemcpyDefault);
  QkNormRope a = pass.a;
  a.qkv = d_qkv;
  RunQkNormRope(a, d_qkv, d_rstd, nullptr);
  const auto run = [&] {
    RunCausalAttention(a, d_mixed, d_log, nullptr);
    cudaDeviceSynchronize();
    Check("causal attention");
    return d_mixed.Read();
  };
  const std::vector<double> got = run();
  Hold("  result", got, mixed, 1e-2);
  if (run() != got) {
    std::printf("  two runs differ  <-- WRONG\n");
    ++failures;
  }
  CheckBackward("", pass,
                [&](Bf16* dqkv, float* dq_w, float* dk_w, SumList* sums) {
                  RunCausalAttentionBackward(a, {d_mixed, d_log, d_rstd},
                                             pass.dmixed, d_numbers, dqkv, dq_w,
                                             dk_w, sums, false, nullptr);
                });
}

}  // namespace

void CheckAttention(const AttentionSizes& z) {
  if (z.causal && !HasHopperAttention()) {
    std::printf("causal attention: not on this GPU\n");
    return;
  }
  const int64_t rows = z.batch * z.tokens, width = z.heads * 64;
  const auto qkv = Random<Bf16>(rows * 3 * width);
  const auto dmixed = Random<Bf16>(z.batch * z.queries * width);
  auto q_weight = Random<float>(64, 0.2f, 1.2f);
  if (z.weight != 0) q_weight[5] = z.weight;
  const auto k_weight = Random<float>(64, 0.2f, 1.2f);
  std::vector<float> cos, sin;
  for (int64_t i = 0; i < z.tokens * 64; ++i) {
    const float angle = i / 64 * 0.1f / (1 + i % 32);
    cos.push_back(std::cos(angle));
    sin.push_back(std::sin(angle));
  }
  // The reference, head by head.
  std::vector<double> mixed(z.batch * z.queries * width);
  std::vector<double> dqkv(rows * 3 * width), dq_w(64), dk_w(64);
  std::vector<double> rotated_q(rows * width), rotated_k(rows * width);
  std::vector<Bf16> dq_all(rows * width), dk_all(rows * width),
      dv_all(rows * width);
  const auto doubles = [](const auto& v, int64_t at, int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i)
      out.push_back(static_cast<float>(v[at + i]));
    return out;
  };
  for (int64_t b = 0; b < z.batch; ++b) {
    for (int64_t h = 0; h < z.heads; ++h) {
      const auto at = [&](int64_t t, int part) {
        return ((b * z.tokens + t) * 3 * z.heads + part * z.heads + h) * 64;
      };
      std::vector<HostHead> q, k;
      std::vector<std::vector<double>> rq, rk, v;
      std::vector<double> dq(z.tokens * 64), dk(z.tokens * 64),
          dv(z.tokens * 64);
      for (int64_t t = 0; t < z.tokens; ++t) {
        const auto c = doubles(cos, t * 64, 64), s = doubles(sin, t * 64, 64);
        q.push_back(
            {doubles(qkv, at(t, 0), 64), doubles(q_weight, 0, 64), c, s});
        k.push_back(
            {doubles(qkv, at(t, 1), 64), doubles(k_weight, 0, 64), c, s});
        v.push_back(doubles(qkv, at(t, 2), 64));
        rq.push_back(q.back().Forward());
        rk.push_back(k.back().Forward());
      }
      for (int64_t i = 0; i < z.queries; ++i) {
        const int64_t out = ((b * z.queries + i) * z.heads + h) * 64;
        const std::vector<double> go = doubles(dmixed, out, 64);
        std::vector<double> p(z.tokens), dp(z.tokens);
        double sum = 0, dot = 0;
        const int64_t keys = z.causal ? i + 1 : z.tokens;
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int c = 0; c < 64; ++c) s += rq[i][c] * rk[j][c];
          p[j] = std::exp(s / 8);
          sum += p[j];
        }
        for (int64_t j = 0; j < keys; ++j) {
          p[j] /= sum;
          for (int c = 0; c < 64; ++c) {
            mixed[out + c] += p[j] * v[j][c];
            dp[j] += go[c] * v[j][c];
            dv[j * 64 + c] += p[j] * go[c];
          }
          dot += p[j] * dp[j];
        }
        for (int64_t j = 0; j < keys; ++j) {
          const double ds = p[j] * (dp[j] - dot) / 8;
          for (int c = 0; c < 64; ++c) {
            dq[i * 64 + c] += ds * rk[j][c];
            dk[j * 64 + c] += ds * rq[i][c];
          }
        }
      }
      for (int64_t t = 0; t < z.tokens; ++t) {
        const auto gq = q[t].Backward(&dq[t * 64], dq_w.data());
        const auto gk = k[t].Backward(&dk[t * 64], dk_w.data());
        for (int c = 0; c < 64; ++c) {
          dqkv[at(t, 0) + c] = gq[c];
          dqkv[at(t, 1) + c] = gk[c];
          dqkv[at(t, 2) + c] = dv[t * 64 + c];
          const int64_t apart = ((b * z.tokens + t) * z.heads + h) * 64 + c;
          rotated_q[apart] = rq[t][c];
          rotated_k[apart] = rk[t][c];
          dq_all[apart] = static_cast<float>(dq[t * 64 + c]);
          dk_all[apart] = static_cast<float>(dk[t * 64 + c]);
          dv_all[apart] = static_cast<float>(dv[t * 64 + c]);
        }
      }
    }
  }
  CheckBuffer<Bf16> d_qkv(qkv), d_dmixed(dmixed), d_mixed(mixed.size());
  CheckBuffer<float> d_q_w(q_weight), d_k_w(k_weight), d_cos(cos), d_sin(sin),
      d_log(z.batch * z.heads * kShortTokens), d_dq_w(64), d_dk_w(64);
  const QkNormRope a = {d_qkv, d_q_w, d_k_w,    d_cos,
                        d_sin, rows,  z.tokens, z.heads};
  const BackwardPass pass = {z, a, d_dmixed, dqkv, dq_w, dk_w};
  if (z.causal) {
    std::printf("causal attention of %lld tokens\n",
                static_cast<long long>(z.tokens));
    CheckCausal(pass, mixed);
    return;
  }
  RunShortAttention(a, z.queries, d_mixed, d_log, nullptr);
  cudaDeviceSynchronize();
  Check("attention");
  std::printf("attention of %lld tokens, %lld of them queries\n",
              static_cast<long long>(z.tokens),
              static_cast<long long>(z.queries));
  Hold("  result", d_mixed.Read(), mixed, 1e-2);
  CheckBackward(
      "", pass, [&](Bf16* dqkv, float* dq_w, float* dk_w, SumList* sums) {
        RunShortAttentionBackward(a, z.queries, d_mixed, d_log, d_dmixed, dqkv,
                                  dq_w, dk_w, sums, false, nullptr);
      });
  CheckHopper(pass, mixed, d_log.Read());
  // The kernels for text, whose attention cuDNN computes.
  CheckBuffer<Bf16> d_rotated(qkv);
  CheckBuffer<float> d_rstd(2 * rows * z.heads);
  QkNormRope heads = a;
  heads.qkv = d_rotated;
  RunQkNormRope(heads, d_rotated, d_rstd, nullptr);
  const std::vector<double> rotated = d_rotated.Read();
  Hold("  Q, normed and rotated", PartOf(rotated, z.heads * 64, 0), rotated_q,
       kRounded);
  Hold("  K, normed and rotated", PartOf(rotated, z.heads * 64, 1), rotated_k,
       kRounded);
  if (z.queries == z.tokens) {
    // The gradients of Q, K and V that attention would pass on, and the way
    // back.
    CheckBuffer<Bf16> d_dq(dq_all), d_dk(dk_all), d_dv(dv_all),
        again(dqkv.size());
    CheckSums sums;
    RunQkNormRopeBackward(heads, d_rstd, d_dq, d_dk, d_dv, again, d_dq_w,
                          d_dk_w, &sums, false, nullptr);
    sums.Run(nullptr);
    Hold("  gradient of Q, K and V, apart", again.Read(), dqkv, 2e-2);
    Hold("  gradient of Q's norm, apart", d_dq_w.Read(), dq_w, 2e-2);
    Hold("  gradient of K's norm, apart", d_dk_w.Read(), dk_w, 2e-2);
  }
}

void TimeAttention(const AttentionSizes& z) {
  const int64_t rows = z.batch * z.tokens, width = z.heads * 64;
  const size_t count = rows * width;
  CheckBuffer<Bf16> qkv(Random<Bf16>(3 * count)), mixed(count),
      dmixed(Random<Bf16>(count)), dqkv(3 * count);
  CheckBuffer<float> weight(Random<float>(64, 0.1f, 1)),
      table(Random<float>(z.tokens * 64)),
      log_sum(z.batch * z.heads * kShortTokens),
      rstd(2 * z.batch * z.heads * kShortTokens), dweight(128);
  CheckSums sums;
  const QkNormRope a = {qkv,   weight, weight,   table,
                        table, rows,   z.tokens, z.heads};
  // The memory's own rate: a copy reads and writes.
  const double copy = Microseconds(
      [&] { cudaMemcpyAsync(dqkv, qkv, 6 * count, cudaMemcpyDefault); });
  const double pass = copy / 6;
  std::printf("one pass over an activation: %.1f us, %.2f TB/s\n", pass,
              2 * count / pass * 1e-6);
  const double flops = 4.0 * z.tokens * z.tokens * 64 * z.batch * z.heads;
  const auto line = [&](const char* what, double us, int passes, double work) {
    std::printf("%-28s %7.1f us, memory %6.1f us (%d passes), %4.0f TFLOP/s\n",
                what, us, passes * pass, passes, work / us * 1e-6);
  };
  line("attention", Microseconds([&] {
         RunShortAttention(a, z.queries, mixed, log_sum, nullptr);
       }),
       4, flops);
  if (HasHopperAttention()) {
    line("attention, Hopper", Microseconds([&] {
           RunHopperAttention(a, z.queries, qkv, mixed, log_sum, rstd, nullptr);
         }),
         6, flops);
  }
  line("attention, backward", Microseconds([&] {
         RunShortAttentionBackward(a, z.queries, mixed, log_sum, dmixed, dqkv,
                                   dweight, dweight + 64, &sums, false,
                                   nullptr);
         sums.Run(nullptr);
       }),
       8, 2.5 * flops);
  if (HasHopperAttention()) {
    line("attention, backward, Hopper", Microseconds([&] {
           RunHopperAttentionBackward(a, z.queries, {mixed, log_sum, rstd},
                                      dmixed, dqkv, dweight, dweight + 64,
                                      &sums, false, nullptr);
           sums.Run(nullptr);
         }),
         8, 2.5 * flops);
  }
}

namespace {

// Counts words that differ, and finds the first and the last of them.
__global__ void CompareWords(const uint32_t* a, const uint32_t* b, size_t count,
                             unsigned long long* found) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    if (a[i] == b[i]) continue;
    atomicAdd(found, 1ull);
    atomicMin(found + 1, static_cast<unsigned long long>(i));
    atomicMax(found + 2, static_cast<unsigned long long>(i));
  }
}

// Calls run() again and again; it must leave the same values.
void HoldRepeats(const char* what, const std::function<void()>& run,
                 const Bf16* values, size_t count) {
  // Races show when all processors are busy.
  const int repeats = count < 1 << 22 ? 2 : 200;
  CheckBuffer<Bf16> first(count);
  using Number = unsigned long long;
  CheckBuffer<Number> d_found(3);
  int different = 0;
  for (int i = 0; i <= repeats; ++i) {
    run();
    if (i == 0) {
      cudaMemcpy(first, values, 2 * count, cudaMemcpyDefault);
      continue;
    }
    Number found[] = {0, ~0ull, 0};
    cudaMemcpy(d_found, found, sizeof(found), cudaMemcpyDefault);
    CompareWords<<<1024, 256>>>(
        reinterpret_cast<const uint32_t*>(values),
        reinterpret_cast<const uint32_t*>(static_cast<Bf16*>(first)), count / 2,
        d_found);
    cudaMemcpy(found, d_found, sizeof(found), cudaMemcpyDefault);
    if (found[0] == 0) continue;
    if (++different < 4) {
      std::printf("  %s: repeat %d: %llu words differ, from %llu to %llu\n",
                  what, i, found[0], found[1], found[2]);
    }
  }
  Check("repeats");
  std::printf("%-44s %d of %d repeats differ%s\n", what, different, repeats,
              different > 0 ? "  <-- WRONG" : "");
  failures += different > 0;
}

}  // namespace

void TimeCausal(const AttentionSizes& z) {
  if (!HasHopperAttention()) return;
  const size_t count = z.batch * z.tokens * z.heads * 64;
  const int64_t numbers = z.batch * z.heads * CausalTokens(z.tokens);
  CheckBuffer<Bf16> qkv(Random<Bf16>(3 * count)), mixed(count),
      dmixed(Random<Bf16>(count)), dqkv(3 * count);
  CheckBuffer<float> weight(Random<float>(64, 0.1f, 1)),
      table(Random<float>(z.tokens * 64)), log_sum(numbers), both(2 * numbers),
      rstd(2 * z.batch * z.tokens * z.heads), dweight(128);
  CheckSums sums;
  const QkNormRope a = {
      qkv, weight, weight, table, table, z.batch * z.tokens, z.tokens, z.heads};
  RunQkNormRope(a, qkv, rstd, nullptr);
  HoldRepeats(
      "causal attention",
      [&] { RunCausalAttention(a, mixed, log_sum, nullptr); }, mixed, count);
  HoldRepeats(
      "causal attention, backward",
      [&] {
        RunCausalAttentionBackward(a, {mixed, log_sum, rstd}, dmixed, both,
                                   dqkv, dweight, dweight + 64, &sums, false,
                                   nullptr);
        sums.Run(nullptr);
      },
      dqkv, 3 * count);
  // Half of all scores.
  const double flops = 2.0 * z.tokens * z.tokens * 64 * z.batch * z.heads;
  const auto line = [&](const char* what, double us, double work) {
    std::printf("%-28s %7.1f us, %4.0f TFLOP/s\n", what, us, work / us * 1e-6);
  };
  line("causal attention",
       Microseconds([&] { RunCausalAttention(a, mixed, log_sum, nullptr); }),
       flops);
  line("causal attention, backward", Microseconds([&] {
         RunCausalAttentionBackward(a, {mixed, log_sum, rstd}, dmixed, both,
                                    dqkv, dweight, dweight + 64, &sums, false,
                                    nullptr);
         sums.Run(nullptr);
       }),
       2.5 * flops);
}

}  // namespace fused
}  // namespace feedrate
