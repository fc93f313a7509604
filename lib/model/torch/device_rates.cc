#include "lib/model/torch/device_rates.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>

#include <algorithm>

namespace feedrate {
namespace {

constexpr int kTries = 5;

// Far beyond caches, and large enough that a call costs nothing.
struct Sizes {
  int64_t product;
  int64_t copy_bytes;
  int calls;
};

Sizes SizesFor(const at::Device& device) {
  if (device.is_cuda()) return {8192, int64_t{2} << 30, 5};
  return {1024, int64_t{128} << 20, 1};
}

}  // namespace

DeviceRates MeasureRates(TrainDevice* device, at::ScalarType type) {
  at::AutoGradMode no_grad(false);
  const Sizes sizes = SizesFor(device->device());
  const auto options = at::TensorOptions().dtype(type).device(device->device());
  const int64_t n = sizes.product;
  // Random, because zeros draw less power and so run at a higher clock.
  const at::Tensor a = at::randn({n, n}, options);
  const at::Tensor b = at::randn({n, n}, options);
  at::Tensor product = at::empty({n, n}, options);
  const at::Tensor from =
      at::empty({sizes.copy_bytes}, options.dtype(at::kByte)).fill_(1);
  at::Tensor to = at::empty_like(from);
  DeviceRates rates;
  for (int i = 0; i < kTries; ++i) {
    // Some CPUs multiply by a transposed matrix, as models do, in another
    // library.
    const double product_s = std::min(
        TimeCalls(device, sizes.calls, [&] { at::matmul_out(product, a, b); }),
        TimeCalls(device, sizes.calls,
                  [&] { at::matmul_out(product, a, b.t()); }));
    const double copy_s =
        TimeCalls(device, sizes.calls, [&] { to.copy_(from); });
    rates.matmul_flops =
        std::max(rates.matmul_flops, sizes.calls * 2.0 * n * n * n / product_s);
    rates.copy_bytes = std::max(rates.copy_bytes,
                                sizes.calls * 2.0 * sizes.copy_bytes / copy_s);
  }
  return rates;
}

}  // namespace feedrate
