// Convolutions of every channel by one kernel, for families that need them.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_KERNELS_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_KERNELS_H_

#include <array>
#include <cstdint>

#include "lib/adapters/torch/op.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

struct KernelSize {
  int64_t height = 1;
  int64_t width = 1;

  // Left, right, top, bottom: so much that the size of the image stays.
  std::array<int64_t, 4> Padding() const {
    return {width / 2, width / 2, height / 2, height / 2};
  }
};

// `kernel_size=(HEIGHT,WIDTH)`, both odd.
KernelSize ReadKernelSize(Params* params);

// One row of weights whose sum is 1.
at::Tensor GaussianRow(int64_t size, double sigma);

// Each channel of `batch` (NCHW, floats) by `kernel` (HW), with zeros beyond
// its border where `padding` is above 0.
at::Tensor Convolve(const at::Tensor& batch, const at::Tensor& kernel,
                    int64_t padding = 0);

// The same with a kernel for each image: `kernels` is NHW.
at::Tensor ConvolveEach(const at::Tensor& batch, const at::Tensor& kernels,
                        int64_t padding = 0);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_KERNELS_H_
