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
  line("down, gradient with GELU", Microseconds([&] {
         RunDownGradient({x, weight, slope, gradient, dbias, &sums, rows, width,
                          hidden, false},
                         nullptr);
         sums.Run(nullptr);
       }));
}

}  // namespace fused
}  // namespace feedrate
