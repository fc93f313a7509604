#include "lib/model/fused/check_support.cuh"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {
namespace fused {
void CheckHopperProducts(int64_t rows, int64_t width, int64_t hidden) {
  if (!HasHopperProducts(width, hidden)) {
    std::printf("products on Hopper: not on this GPU\n");
    return;
  }
  std::printf("products of %lld x %lld and %lld x %lld\n",
              static_cast<long long>(rows), static_cast<long long>(width),
              static_cast<long long>(width), static_cast<long long>(hidden));
  const auto x = Random<Bf16>(rows * width);
  const auto bias = Random<Bf16>(hidden);
  // hidden x width, and width x hidden.
  const auto up = Random<Bf16>(hidden * width, 1 / std::sqrt(float(width)));
  const auto down = Random<Bf16>(width * hidden, 1 / std::sqrt(float(width)));
  // Some rows, exactly.
  const int64_t step = std::max<int64_t>(1, rows / 97);
  std::vector<double> activated, gradient, got_activated, got_gradient;
  for (int64_t r = 0; r < rows; r += step) {
    for (int64_t c = 0; c < hidden; ++c) {
      double forward = float(bias[c]), backward = 0;
      for (int64_t k = 0; k < width; ++k) {
        const double a = float(x[r * width + k]);
        forward += a * float(up[c * width + k]);
        backward += a * float(down[k * hidden + c]);
      }
      const ExactGelu gelu(forward);
      activated.push_back(gelu.value);
      gradient.push_back(backward * gelu.slope);
    }
  }
  CheckBuffer<Bf16> d_x(x), d_bias(bias), d_up(up), d_down(down),
      d_activated(rows * hidden), d_gradient(rows * hidden);
  CheckBuffer<uint8_t> d_slope(SlopeBytes(rows, hidden));
  CheckBuffer<float> d_dbias(std::vector<float>(hidden, 1));
  CheckSums sums;
  RunUpProduct({d_x, d_up, d_bias, d_activated, d_slope, rows, width, hidden},
               nullptr);
  RunDownGradient({d_x, d_down, d_slope, d_gradient, d_dbias, &sums, rows,
                   width, hidden, /*accumulate=*/true},
                  nullptr);
  sums.Run(nullptr);
  const auto pick = [&](const std::vector<double>& all,
                        std::vector<double>* to) {
    for (int64_t r = 0; r < rows; r += step) {
      to->insert(to->end(), &all[r * hidden], &all[r * hidden] + hidden);
    }
  };
  pick(d_activated.Read(), &got_activated);
  const std::vector<double> all = d_gradient.Read();
  pick(all, &got_gradient);
  std::vector<double> dbias(hidden, 1);
  for (int64_t i = 0; i < rows * hidden; ++i) dbias[i % hidden] += all[i];
  Hold("  up, GELU", got_activated, activated, kRounded);
  Hold("  down, gradient with GELU", got_gradient, gradient, kRounded);
  Hold("  down, gradient of the bias", d_dbias.Read(), dbias, kRounded);
}

void CheckQkvProduct(int64_t rows, int64_t heads, int64_t tokens) {
  const int64_t width = heads * 64;
  if (!HasHopperProducts(width, 3 * width)) return;
  std::printf("QKV of %lld x %lld\n", static_cast<long long>(rows),
              static_cast<long long>(width));
  const auto x = Random<Bf16>(rows * width);
  const auto weight =
      Random<Bf16>(3 * width * width, 1 / std::sqrt(float(width)));
  const auto q_weight = Random<float>(64, 0.2f, 1);
  const auto k_weight = Random<float>(64, 0.2f, 1);
  const auto cos = Random<float>(tokens * 64), sin = Random<float>(tokens * 64);
  CheckBuffer<Bf16> d_x(x), d_weight(weight), d_qkv(3 * rows * width);
  CheckBuffer<float> d_q(q_weight), d_k(k_weight), d_cos(cos), d_sin(sin),
      d_rstd(2 * rows * heads);
  RunQkvProduct({d_x,
                 d_weight,
                 {d_qkv, d_q, d_k, d_cos, d_sin, rows, tokens, heads},
                 d_qkv,
                 d_rstd},
                nullptr);
  const std::vector<double> all = d_qkv.Read(), all_rstd = d_rstd.Read();
  std::vector<double> want, got, want_rstd, got_rstd;
  for (int64_t r = 0; r < rows; r += std::max<int64_t>(1, rows / 97)) {
    for (int64_t head = 0; head < 3 * heads; ++head) {
      double y[64], squares = 0;
      for (int c = 0; c < 64; ++c) {
        y[c] = 0;
        for (int64_t k = 0; k < width; ++k) {
          y[c] += double(float(x[r * width + k])) *
                  float(weight[(head * 64 + c) * width + k]);
        }
        squares += y[c] * y[c];
      }
      const double rstd = 1 / std::sqrt(squares / 64 + kEpsilon);
      const auto& w = head < heads ? q_weight : k_weight;
      for (int c = 0; c < 64; ++c) {
        got.push_back(all[r * 3 * width + head * 64 + c]);
        if (head >= 2 * heads) {
          want.push_back(y[c]);
          continue;
        }
        const int64_t at = r % tokens * 64 + c % 32;
        const double a = y[c % 32] * w[c % 32] * rstd;
        const double b = y[c % 32 + 32] * w[c % 32 + 32] * rstd;
        want.push_back(c < 32 ? a * cos[at] - b * sin[at]
                              : b * cos[at] + a * sin[at]);
      }
      if (head >= 2 * heads) continue;
      want_rstd.push_back(rstd);
      got_rstd.push_back(all_rstd[r * 2 * heads + head]);
    }
  }
  Hold("  QKV, normed and rotated", got, want, kRounded);
  Hold("  what heads are multiplied by", got_rstd, want_rstd, kExact);
}

void TimeHopperProducts(int64_t rows, int64_t width, int64_t hidden) {
  if (!HasHopperProducts(width, hidden)) return;
  CheckBuffer<Bf16> x(Random<Bf16>(rows * width)),
      weight(Random<Bf16>(hidden * width)), bias(Random<Bf16>(hidden)),
      activated(rows * hidden), gradient(rows * hidden);
  CheckBuffer<uint8_t> slope(SlopeBytes(rows, hidden));
  CheckBuffer<float> dbias(hidden);
  CheckSums sums;
  const double copy = Microseconds([&] {
    cudaMemcpyAsync(activated, gradient, rows * hidden * 2, cudaMemcpyDefault);
  });
  const double pass = copy * width / hidden / 2;
  // x or dy, and the activation or gradient with slopes of half the size.
  const int wide = 3 * hidden / width / 2 + 1;
  const auto line = [&](const char* what, double us) {
    std::printf("%-28s %7.1f us, memory %6.1f us (%d passes), %4.0f TFLOP/s\n",
                what, us, wide * pass, wide,
                2.0 * rows * width * hidden / us * 1e-6);
  };
  line("up, GELU", Microseconds([&] {
         RunUpProduct({x, weight, bias, activated, slope, rows, width, hidden},
                      nullptr);
       }));
  const int64_t tokens = 1024, heads = width / 64;
  CheckBuffer<Bf16> qkv(3 * rows * width);
  CheckBuffer<float> table(Random<float>(tokens * 64)), rstd(2 * rows * heads);
  const double us = Microseconds([&] {
    RunQkvProduct({x,
                   weight,
                   {qkv, table, table, table, table, rows, tokens, heads},
                   qkv,
                   rstd},
                  nullptr);
  });
  std::printf("%-28s %7.1f us, memory %6.1f us (4 passes), %4.0f TFLOP/s\n",
              "QKV, normed and rotated", us, 4 * pass,
              6.0 * rows * width * width / us * 1e-6);
  line("down, gradient with GELU", Microseconds([&] {
         RunDownGradient({x, weight, slope, gradient, dbias, &sums, rows, width,
                          hidden, false},
                         nullptr);
         sums.Run(nullptr);
       }));
}

}  // namespace fused
}  // namespace feedrate
