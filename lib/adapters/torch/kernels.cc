#include "lib/adapters/torch/kernels.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>

#include <cmath>
#include <vector>

namespace feedrate {

KernelSize ReadKernelSize(Params* params) {
  const std::vector<double> sides = params->Tuple("kernel_size", 2);
  KernelSize size;
  if (sides.size() != 2) return size;
  size.height = std::lround(sides[0]);
  size.width = std::lround(sides[1]);
  if (size.height < 1 || size.width < 1 || size.height % 2 == 0 ||
      size.width % 2 == 0) {
    params->Fail("kernel_size", "must be odd");
    return {};
  }
  return size;
}

at::Tensor GaussianRow(int64_t size, double sigma) {
  at::Tensor row = at::arange(size, at::kDouble)
                       .sub_(static_cast<double>(size / 2))
                       .square_()
                       .mul_(-0.5 / (sigma * sigma))
                       .exp_();
  return row.div(row.sum()).to(at::kFloat).view({1, size});
}

at::Tensor Convolve(const at::Tensor& batch, const at::Tensor& kernel,
                    int64_t padding) {
  const int64_t channels = batch.size(1);
  const at::Tensor weights =
      kernel.expand({channels, 1, kernel.size(0), kernel.size(1)});
  return at::conv2d(batch, weights, /*bias=*/{}, /*stride=*/{1, 1},
                    {padding, padding}, /*dilation=*/{1, 1}, channels);
}

// As one image that has all the channels, so that it is one call.
at::Tensor ConvolveEach(const at::Tensor& batch, const at::Tensor& kernels,
                        int64_t padding) {
  const int64_t images = batch.size(0);
  const int64_t channels = batch.size(1);
  const int64_t height = kernels.size(1);
  const int64_t width = kernels.size(2);
  const at::Tensor weights =
      kernels.unsqueeze(1)
          .expand({images, channels, height, width})
          .reshape({images * channels, 1, height, width});
  const at::Tensor all =
      batch.reshape({1, images * channels, batch.size(2), batch.size(3)});
  const at::Tensor out =
      at::conv2d(all, weights, /*bias=*/{}, /*stride=*/{1, 1},
                 {padding, padding}, /*dilation=*/{1, 1}, images * channels);
  return out.view({images, channels, out.size(2), out.size(3)});
}

}  // namespace feedrate
