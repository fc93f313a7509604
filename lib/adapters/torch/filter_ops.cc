// ATen: filters over neighboring pixels; random values, pixels, channels and
// holes. Parameters of each operation:
//
//   at::reflection_pad2d+at::avg_pool2d  kernel_size, stride=1
//   at::reflection_pad2d+at::conv2d  kernel_size, sigma, separable=True
//   at::replication_pad2d+at::conv2d  kernel=(nine weights), scale
//   at::conv2d+at::lerp  sharpness_factor
//   at::conv2d  kernel_size, angle, direction, padding_mode
//   at::randn+at::add+at::clamp  mean, std
//   at::rand+at::where  amount, salt_vs_pepper
//   at::select+at::zero_  channels: how many; or channel: which
//   at::randperm+at::index_select  dim
//   at::index_select  dim, index=(...)
//   at::slice+at::fill_  value; scale, ratio, tries; or
//     rect=(top,left,height,width)
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/adapters/torch/op.h"

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

// Moves away from a smoothed image. The outermost pixels have too few neighbors
// and are unchanged. Smooths like Pillow and torchvision.
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

// A line through the center, `degrees` counterclockwise from the right. The
// weight changes linearly from 1 - direction to 1 + direction; the sum is 1.
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

TorchOp GaussianNoise(Params* params) {
  const double mean = params->Number("mean");
  const double std = params->Number("std");
  return [=](const at::Tensor& in, Random*) {
    return ToBytes(
        at::randn(in.sizes(), FloatsLike(in)).mul_(std).add_(mean).add_(in));
  };
}

TorchOp SaltAndPepper(Params* params) {
  const Range amount = params->Draw("amount");
  const Range salt = params->Draw("salt_vs_pepper");
  return [=](const at::Tensor& in, Random* random) {
    const double share = random->Uniform(amount);
    const double white = share * random->Uniform(salt);
    const at::Tensor drawn =
        at::rand({1, in.size(1), in.size(2)}, FloatsLike(in));
    const at::Tensor peppered = at::where(drawn.lt(share), 0, in);
    return at::where(drawn.lt(white), 255, peppered);
  };
}

TorchOp SaltAndPepperBatch(Params* params) {
  const Range amount = params->Draw("amount");
  const Range salt = params->Draw("salt_vs_pepper");
  return [=](const at::Tensor& in, Random* random) {
    std::vector<double> shares, whites;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      shares.push_back(random->Uniform(amount));
      whites.push_back(shares.back() * random->Uniform(salt));
    }
    const at::Tensor drawn =
        at::rand({ImagesOf(in), 1, HeightOf(in), WidthOf(in)}, FloatsLike(in));
    return in.masked_fill(drawn.lt(PerImage(shares, in)), 0)
        .masked_fill_(drawn.lt(PerImage(whites, in)), 255);
  };
}

TorchOp DropOneChannel(Params* params) {
  const int channel = params->Integer("channel");
  if (channel < 0) params->Fail("channel", "is below 0");
  return [channel](const at::Tensor& in, Random*) {
    at::Tensor out = in.clone();
    out.select(-3, channel).zero_();
    return out;
  };
}

// `count` different ones of `channels`.
std::vector<int64_t> DrawChannels(int64_t channels, int64_t count,
                                  Random* random) {
  std::vector<int64_t> drawn(channels);
  std::iota(drawn.begin(), drawn.end(), 0);
  random->Shuffle(&drawn);
  drawn.resize(std::min(count, channels));
  return drawn;
}

int ReadChannelCount(Params* params) {
  const int count = params->Integer("channels");
  if (count < 1) params->Fail("channels", "must be at least 1");
  return count;
}

TorchOp DropChannels(Params* params) {
  if (params->Has("channel")) return DropOneChannel(params);
  const int count = ReadChannelCount(params);
  return [count](const at::Tensor& in, Random* random) {
    at::Tensor out = in.clone();
    for (const int64_t channel : DrawChannels(in.size(0), count, random)) {
      out.select(0, channel).zero_();
    }
    return out;
  };
}

TorchOp DropChannelsBatch(Params* params) {
  if (params->Has("channel")) return DropOneChannel(params);
  const int count = ReadChannelCount(params);
  return [count](const at::Tensor& in, Random* random) {
    const int64_t images = ImagesOf(in), channels = ChannelsOf(in);
    std::vector<int64_t> dropped(images * channels);
    for (int64_t i = 0; i < images; ++i) {
      for (const int64_t channel : DrawChannels(channels, count, random)) {
        dropped[i * channels + channel] = 1;
      }
    }
    const at::Tensor mask = at::tensor(dropped, at::kLong)
                                .to(in.options().dtype(at::kBool))
                                .view({images, channels, 1, 1});
    return in.masked_fill(mask, 0);
  };
}

TorchOp ShuffleDimension(Params* params) {
  const int dim = params->Integer("dim");
  return [dim](const at::Tensor& in, Random*) {
    return at::index_select(in, dim,
                            at::randperm(in.size(dim), IndexesLike(in)));
  };
}

TorchOp ShuffleChannelsBatch(Params* params) {
  if (params->Integer("dim") != -3) return nullptr;
  return [](const at::Tensor& in, Random*) {
    return at::index_select(in.flatten(0, 1), 0,
                            OrderOfEach(ChannelsOf(in), in))
        .view(in.sizes());
  };
}

TorchOp SelectIndexes(Params* params) {
  const int dim = params->Integer("dim");
  const std::vector<double> numbers = params->Tuple("index");
  const std::vector<int64_t> index(numbers.begin(), numbers.end());
  const Constant order(at::tensor(index, at::TensorOptions(at::kLong)));
  return [=](const at::Tensor& in, Random*) {
    return at::index_select(in, dim, order.For(in));
  };
}

// SelectIndexes for a batch. Only negative dims: counted from the last, they
// mean the same with a batch dimension in front.
TorchOp SelectIndexesBatch(Params* params) {
  return params->Integer("dim") < 0 ? SelectIndexes(params) : nullptr;
}

struct Rectangle {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;
};

void Fill(at::Tensor* image, const Rectangle& at, double value) {
  image->slice(-2, at.y, at.y + at.height)
      .slice(-1, at.x, at.x + at.width)
      .fill_(value);
}

TorchOp EraseRectangle(Params* params, double value) {
  const std::vector<double> rect = params->Tuple("rect", 4);
  for (double side : rect) {
    if (side < 0) params->Fail("rect", "is outside the image");
  }
  return [=](const at::Tensor& in, Random*) {
    at::Tensor out = in.clone();
    Fill(&out,
         {std::lround(rect[0]), std::lround(rect[1]), std::lround(rect[2]),
          std::lround(rect[3])},
         value);
    return out;
  };
}

// How rectangles are drawn.
struct Holes {
  std::vector<double> scale;
  std::vector<double> ratio;
  int tries = 0;

  // Empty if no try fits.
  Rectangle Draw(const at::Tensor& in, Random* random) const {
    const int64_t height = HeightOf(in), width = WidthOf(in);
    for (int i = 0; i < tries; ++i) {
      const double area = static_cast<double>(height * width) *
                          random->Uniform(scale[0], scale[1]);
      const double aspect =
          std::exp(random->Uniform(std::log(ratio[0]), std::log(ratio[1])));
      const int64_t h = std::lround(std::sqrt(area * aspect));
      const int64_t w = std::lround(std::sqrt(area / aspect));
      if (h < 1 || w < 1 || h >= height || w >= width) continue;
      const int64_t y = random->Below(height - h + 1);
      return {y, random->Below(width - w + 1), h, w};
    }
    return {};
  }
};

Holes ReadHoles(Params* params) {
  Holes holes;
  holes.scale = params->Tuple("scale", 2);
  holes.ratio = params->Tuple("ratio", 2);
  holes.tries = params->Integer("tries");
  if (!(holes.ratio[0] > 0 && holes.ratio[0] <= holes.ratio[1])) {
    params->Fail("ratio", "must be positive and ascending");
  }
  return holes;
}

TorchOp Erase(Params* params) {
  const double value = params->Number("value");
  if (params->Has("rect")) return EraseRectangle(params, value);
  const Holes holes = ReadHoles(params);
  return [=](const at::Tensor& in, Random* random) {
    at::Tensor out = in.clone();
    Fill(&out, holes.Draw(in, random), value);
    return out;
  };
}

// Which positions are among the `count` from `first` on, for each image.
at::Tensor Within(const at::Tensor& places, const std::vector<double>& first,
                  const std::vector<double>& count, const at::Tensor& in) {
  const at::Tensor offset = places.sub(PerImage(first, in));
  return offset.ge(0).logical_and_(offset.lt(PerImage(count, in)));
}

TorchOp EraseBatch(Params* params) {
  const double value = params->Number("value");
  if (params->Has("rect")) return EraseRectangle(params, value);
  const Holes holes = ReadHoles(params);
  return [=](const at::Tensor& in, Random* random) {
    std::vector<double> y, x, height, width;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      const Rectangle drawn = holes.Draw(in, random);
      y.push_back(static_cast<double>(drawn.y));
      x.push_back(static_cast<double>(drawn.x));
      height.push_back(static_cast<double>(drawn.height));
      width.push_back(static_cast<double>(drawn.width));
    }
    const at::Tensor rows =
        at::arange(HeightOf(in), FloatsLike(in)).view({1, 1, -1, 1});
    const at::Tensor columns =
        at::arange(WidthOf(in), FloatsLike(in)).view({1, 1, 1, -1});
    return in.masked_fill(
        Within(rows, y, height, in).logical_and(Within(columns, x, width, in)),
        value);
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
      {"at::randn+at::add+at::clamp", GaussianNoise, GaussianNoise},
      {"at::rand+at::where", SaltAndPepper, SaltAndPepperBatch},
      {"at::select+at::zero_", DropChannels, DropChannelsBatch},
      {"at::randperm+at::index_select", ShuffleDimension, ShuffleChannelsBatch},
      {"at::index_select", SelectIndexes, SelectIndexesBatch},
      {"at::slice+at::fill_", Erase, EraseBatch},
  };
  return *ops;
}

}  // namespace feedrate
