#include "lib/adapters/torch/colour.h"

#include <ATen/ops/lerp.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace feedrate {
namespace {

// One number a channel.
at::Tensor PerChannel(const std::vector<double>& values, at::ScalarType type) {
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble))
      .to(type)
      .reshape({static_cast<int64_t>(values.size()), 1, 1});
}

TorchOp Invert(Params*) {
  return [](const at::Tensor& in, Random*) { return in.bitwise_not(); };
}

TorchOp Posterize(Params* params) {
  const int mask = params->Integer("mask");
  return [mask](const at::Tensor& in, Random*) { return in.bitwise_and(mask); };
}

TorchOp Solarize(Params* params) {
  const double threshold = params->Number("threshold");
  return [threshold](const at::Tensor& in, Random*) {
    return at::where(in.ge(threshold), in.bitwise_not(), in);
  };
}

TorchOp Gamma(Params* params) {
  const double gamma = params->Number("gamma");
  return [gamma](const at::Tensor& in, Random*) {
    return ToBytes(ToFloat(in).div_(255).pow_(gamma).mul_(255));
  };
}

// What is added is whole and at most 255, so 16 bits hold the sum.
at::Tensor AddWhole(const at::Tensor& in, const at::Tensor& shift) {
  return in.to(at::kShort).add_(shift).clamp_(0, 255).to(at::kByte);
}

TorchOp AddToChannels(Params* params) {
  const Range shifts[] = {params->Draw("r_shift"), params->Draw("g_shift"),
                          params->Draw("b_shift")};
  return [=](const at::Tensor& in, Random* random) {
    std::vector<double> drawn;
    for (int64_t i = 0; i < ImagesOf(in); ++i) {
      for (const Range& shift : shifts) {
        drawn.push_back(std::round(random->Uniform(shift)));
      }
    }
    const at::Tensor shift =
        PerChannel(drawn, at::kShort).view({ImagesOf(in), 3, 1, 1});
    return AddWhole(in, UnbatchedLike(in, shift).to(in.device()));
  };
}

TorchOp Add(Params* params) {
  if (params->Has("r_shift")) return AddToChannels(params);
  const int value = params->Integer("value");
  return [value](const at::Tensor& in, Random*) {
    return in.to(at::kShort).add_(value).clamp_(0, 255).to(at::kByte);
  };
}

at::Tensor Grey(const at::Tensor& rgb, const at::Tensor& weights) {
  return ToFloat(rgb).mul_(weights).sum(-3, /*keepdim=*/true);
}

TorchOp Grayscale(Params* params) {
  const Constant weights(PerChannel(params->Tuple("weights", 3), at::kFloat));
  return [weights](const at::Tensor& in, Random*) {
    return ToBytes(Grey(in, weights.For(in))).expand_as(in).contiguous();
  };
}

TorchOp Saturation(Params* params) {
  const double factor = params->Number("factor");
  // Luma as ITU-R BT.601 defines it, as all libraries take it.
  const Constant weights(PerChannel({0.299, 0.587, 0.114}, at::kFloat));
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor values = ToFloat(in);
    return ToBytes(at::lerp(Grey(in, weights.For(in)), values, factor));
  };
}

}  // namespace

const TorchOpTable& TorchColourOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::bitwise_not", Invert, Invert},
      {"at::bitwise_and", Posterize, Posterize},
      {"at::where", Solarize, Solarize},
      {"at::pow", Gamma, Gamma},
      {"at::add+at::clamp", Add, Add},
      {"at::mul+at::sum+at::expand", Grayscale, Grayscale},
      {"at::lerp", Saturation, Saturation},
  };
  return *ops;
}

}  // namespace feedrate
