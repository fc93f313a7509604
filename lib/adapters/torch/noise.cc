#include "lib/adapters/torch/noise.h"

#include <ATen/ops/index_select.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace feedrate {
namespace {

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
  // Bytes, so that the result is of bytes.
  const at::Tensor black = at::tensor(0, at::kByte);
  const at::Tensor white_value = at::tensor(255, at::kByte);
  return [=](const at::Tensor& in, Random* random) {
    const double share = random->Uniform(amount);
    const double white = share * random->Uniform(salt);
    const at::Tensor drawn =
        at::rand({1, in.size(1), in.size(2)}, FloatsLike(in));
    const at::Tensor peppered = at::where(drawn.lt(share), black, in);
    return at::where(drawn.lt(white), white_value, peppered);
  };
}

TorchOp DropOneChannel(Params* params) {
  const int channel = params->Integer("channel");
  if (channel < 0) params->Fail("channel", "is below 0");
  return [channel](const at::Tensor& in, Random*) {
    at::Tensor out = in.clone();
    out.select(0, channel).zero_();
    return out;
  };
}

TorchOp DropChannels(Params* params) {
  if (params->Has("channel")) return DropOneChannel(params);
  const int count = params->Integer("channels");
  if (count < 1) params->Fail("channels", "must be at least 1");
  return [count](const at::Tensor& in, Random* random) {
    std::vector<int64_t> channels(in.size(0));
    std::iota(channels.begin(), channels.end(), 0);
    random->Shuffle(&channels);
    at::Tensor out = in.clone();
    for (int i = 0; i < count && i < out.size(0); ++i) {
      out.select(0, channels[i]).zero_();
    }
    return out;
  };
}

TorchOp ShuffleDimension(Params* params) {
  const int dim = params->Integer("dim");
  return [dim](const at::Tensor& in, Random*) {
    return at::index_select(in, dim,
                            at::randperm(in.size(dim), IndexesLike(in)));
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

void Fill(at::Tensor* image, int64_t y, int64_t x, int64_t height,
          int64_t width, double value) {
  image->slice(1, y, y + height).slice(2, x, x + width).fill_(value);
}

TorchOp EraseRectangle(Params* params, double value) {
  const std::vector<double> rect = params->Tuple("rect", 4);
  for (double side : rect) {
    if (side < 0) params->Fail("rect", "is outside the image");
  }
  return [=](const at::Tensor& in, Random*) {
    at::Tensor out = in.clone();
    Fill(&out, std::lround(rect[0]), std::lround(rect[1]), std::lround(rect[2]),
         std::lround(rect[3]), value);
    return out;
  };
}

TorchOp Erase(Params* params) {
  const double value = params->Number("value");
  if (params->Has("rect")) return EraseRectangle(params, value);
  const std::vector<double> scale = params->Tuple("scale", 2);
  const std::vector<double> ratio = params->Tuple("ratio", 2);
  const int tries = params->Integer("tries");
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1])) {
    params->Fail("ratio", "must be positive and ascending");
  }
  return [=](const at::Tensor& in, Random* random) {
    const int64_t height = in.size(1), width = in.size(2);
    at::Tensor out = in.clone();
    for (int i = 0; i < tries; ++i) {
      const double area = static_cast<double>(height * width) *
                          random->Uniform(scale[0], scale[1]);
      const double aspect =
          std::exp(random->Uniform(std::log(ratio[0]), std::log(ratio[1])));
      const int64_t h = std::lround(std::sqrt(area * aspect));
      const int64_t w = std::lround(std::sqrt(area / aspect));
      if (h < 1 || w < 1 || h >= height || w >= width) continue;
      const int64_t y = random->Below(height - h + 1);
      const int64_t x = random->Below(width - w + 1);
      Fill(&out, y, x, h, w, value);
      break;
    }
    return out;
  };
}

}  // namespace

const TorchOpTable& TorchNoiseOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::randn+at::add+at::clamp", GaussianNoise},
      {"at::rand+at::where", SaltAndPepper},
      {"at::select+at::zero_", DropChannels},
      {"at::randperm+at::index_select", ShuffleDimension},
      {"at::index_select", SelectIndexes},
      {"at::slice+at::fill_", Erase},
  };
  return *ops;
}

}  // namespace feedrate
