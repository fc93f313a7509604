#include "lib/adapters/torch/filter.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/adapters/torch/kernels.h"

namespace feedrate {
namespace {

TorchOp Blur(Params* params) {
  const KernelSize size = ReadKernelSize(params);
  if (params->Integer("stride") != 1) params->Fail("stride", "must be 1");
  return [size](const at::Tensor& in, Random*) {
    const at::Tensor padded =
        at::reflection_pad2d(Batched(ToFloat(in)), size.Padding());
    return ToBytes(UnbatchedLike(
        in, at::avg_pool2d(padded, {size.height, size.width}, {1, 1})));
  };
}

TorchOp GaussianBlur(Params* params) {
  const KernelSize size = ReadKernelSize(params);
  const std::vector<double> sigma = params->Tuple("sigma", 2);
  if (!params->Boolean("separable")) {
    params->Fail("separable", "must be True");
  }
  if (!(sigma[0] > 0 && sigma[1] > 0)) {
    params->Fail("sigma", "must be positive");
    return nullptr;
  }
  const Constant across(GaussianRow(size.width, sigma[0]));
  const Constant down(GaussianRow(size.height, sigma[1]).t());
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor padded =
        at::reflection_pad2d(Batched(ToFloat(in)), size.Padding());
    return ToBytes(UnbatchedLike(
        in, Convolve(Convolve(padded, across.For(in)), down.For(in))));
  };
}

TorchOp FixedKernel(Params* params) {
  const std::vector<double> weights = params->Tuple("kernel", 9);
  const double scale = params->Number("scale");
  if (scale == 0) params->Fail("scale", "must not be 0");
  const Constant kernel(
      at::tensor(weights, at::kDouble).div_(scale).to(at::kFloat).view({3, 3}));
  return [kernel](const at::Tensor& in, Random*) {
    const at::Tensor padded =
        at::replication_pad2d(Batched(ToFloat(in)), {1, 1, 1, 1});
    return ToBytes(UnbatchedLike(in, Convolve(padded, kernel.For(in))));
  };
}

// Away from a smoothed image; the outermost pixels have too few neighbours and
// stay. The smoothing is that of Pillow and torchvision.
TorchOp Sharpen(Params* params) {
  const double factor = params->Number("sharpness_factor");
  const Constant kernel(
      at::tensor({1., 1., 1., 1., 5., 1., 1., 1., 1.}, at::kDouble)
          .div_(13)
          .to(at::kFloat)
          .view({3, 3}));
  return [=](const at::Tensor& in, Random*) {
    if (HeightOf(in) < 3 || WidthOf(in) < 3) return in.clone();
    const at::Tensor values = ToFloat(in);
    const at::Tensor smooth =
        UnbatchedLike(in, Convolve(Batched(values), kernel.For(in)));
    const auto inner = [](const at::Tensor& image) {
      return image.slice(-2, 1, -1).slice(-1, 1, -1);
    };
    at::Tensor out = in.clone();
    inner(out).copy_(ToBytes(at::lerp(smooth, inner(values), factor)));
    return out;
  };
}

// A line through the centre, `degrees` counter-clockwise from the right. The
// weight goes evenly from 1 - direction to 1 + direction; the sum is 1.
at::Tensor LineKernel(int64_t size, double degrees, double direction) {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  std::vector<double> weights(size * size);
  const int64_t half = size / 2;
  double sum = 0;
  for (int64_t step = -half; step <= half; ++step) {
    const int64_t x = half + std::lround(step * std::cos(degrees * kRadians));
    const int64_t y = half - std::lround(step * std::sin(degrees * kRadians));
    const double along = half == 0 ? 0 : static_cast<double>(step) / half;
    weights[y * size + x] += 1 + direction * along;
    sum += 1 + direction * along;
  }
  for (double& weight : weights) weight /= sum;
  return at::tensor(weights, at::kDouble).to(at::kFloat).view({size, size});
}

TorchOp MotionBlur(Params* params) {
  const int64_t size = params->Integer("kernel_size");
  const Range angle = params->Draw("angle");
  const Range direction = params->Draw("direction");
  const bool reflect =
      params->Word("padding_mode", {{"zeros", 0}, {"reflect", 1}}) == 1;
  if (size < 1 || size % 2 == 0) params->Fail("kernel_size", "must be odd");
  return [=](const at::Tensor& in, Random* random) {
    std::vector<at::Tensor> kernels;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      const double degrees = random->Uniform(angle);
      kernels.push_back(LineKernel(size, degrees, random->Uniform(direction)));
    }
    const at::Tensor kernel = at::stack(kernels).to(in.device());
    const int64_t edge = size / 2;
    const at::Tensor images = Batched(ToFloat(in));
    if (!reflect) {
      return ToBytes(UnbatchedLike(in, ConvolveEach(images, kernel, edge)));
    }
    return ToBytes(UnbatchedLike(
        in, ConvolveEach(at::reflection_pad2d(images, {edge, edge, edge, edge}),
                         kernel)));
  };
}

}  // namespace

const TorchOpTable& TorchFilterOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::reflection_pad2d+at::avg_pool2d", Blur, Blur},
      {"at::reflection_pad2d+at::conv2d", GaussianBlur, GaussianBlur},
      {"at::replication_pad2d+at::conv2d", FixedKernel, FixedKernel},
      {"at::conv2d+at::lerp", Sharpen, Sharpen},
      {"at::conv2d", MotionBlur, MotionBlur},
  };
  return *ops;
}

}  // namespace feedrate
