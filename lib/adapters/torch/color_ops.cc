// ATen: values and colors, of single pixels, by statistics of the image, or by
// a light gradient over the image. Parameters of each operation:
//
//   at::bitwise_not
//   at::bitwise_and  mask
//   at::where  threshold: values from it on are inverted
//   at::pow  gamma
//   at::add+at::clamp  value; or r_shift, g_shift, b_shift
//   at::mul+at::sum+at::expand  weights=(r,g,b)
//   at::lerp  factor: away from the gray image
//   at::amin+at::amax  cutoff=0
//   at::bincount+at::cumsum+at::gather  by_channels=True
//   at::mul+at::clamp  factor; or intensity, sign, and one of
//     angle; corner; center and sigma
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/hypot.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/adapters/torch/op.h"

namespace feedrate {
namespace {

// One number per channel.
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

// The shift is an integer of at most 255, so 16 bits hold the sum.
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

at::Tensor Gray(const at::Tensor& rgb, const at::Tensor& weights) {
  return ToFloat(rgb).mul_(weights).sum(-3, /*keepdim=*/true);
}

TorchOp Grayscale(Params* params) {
  const Constant weights(PerChannel(params->Tuple("weights", 3), at::kFloat));
  return [weights](const at::Tensor& in, Random*) {
    return ToBytes(Gray(in, weights.For(in))).expand_as(in).contiguous();
  };
}

TorchOp Saturation(Params* params) {
  const double factor = params->Number("factor");
  // Luma of ITU-R BT.601, as in all libraries.
  const Constant weights(PerChannel({0.299, 0.587, 0.114}, at::kFloat));
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor values = ToFloat(in);
    return ToBytes(at::lerp(Gray(in, weights.For(in)), values, factor));
  };
}

TorchOp AutoContrast(Params* params) {
  if (params->Number("cutoff") != 0) {
    params->Fail("cutoff", "must be 0");
  }
  return [](const at::Tensor& in, Random*) {
    const at::Tensor low = at::amin(in, {-2, -1}, /*keepdim=*/true);
    const at::Tensor high = at::amax(in, {-2, -1}, /*keepdim=*/true);
    const at::Tensor flat = high.eq(low);
    const at::Tensor span = ToFloat(high).sub_(low);
    // A channel with a single value is unchanged.
    const at::Tensor from = at::where(flat, 0, ToFloat(low));
    const at::Tensor scale = at::where(flat, 1, span.reciprocal_().mul_(255));
    return ToBytes(ToFloat(in).sub_(from).mul_(scale));
  };
}

// Like Pillow: integer arithmetic, the pixels of the largest value do not count
// for the step, and the table is shifted by one.
at::Tensor EqualizeChannel(const at::Tensor& channel) {
  const at::Tensor flat = channel.flatten();
  const at::Tensor counts = at::bincount(flat, {}, 256);
  const at::Tensor occurring = counts.nonzero();
  const int64_t last =
      counts[occurring[occurring.size(0) - 1].item<int64_t>()].item<int64_t>();
  const int64_t step = (flat.numel() - last) / 255;
  if (step == 0) return channel;
  at::Tensor table = at::cumsum(counts, 0).add_(step / 2).floor_divide_(step);
  table = at::constant_pad_nd(table.slice(0, 0, 255), {1, 0});
  return table.clamp_(0, 255)
      .to(at::kByte)
      .gather(0, flat.to(at::kLong))
      .view_as(channel);
}

// All channels of all images at once, without synchronizing with the host.
at::Tensor EqualizeAll(const at::Tensor& in) {
  const int64_t pixels = HeightOf(in) * WidthOf(in);
  const int64_t channels = in.numel() / pixels;
  const at::Tensor values = in.reshape({channels, pixels}).to(at::kLong);
  const at::Tensor bins =
      at::arange(channels, IndexesLike(in)).mul_(256).view({channels, 1});
  const at::Tensor counts =
      at::bincount(values.add(bins).flatten(), {}, 256 * channels)
          .view({channels, 256});
  const at::Tensor levels = at::arange(256, IndexesLike(in)).view({1, 256});
  const at::Tensor greatest =
      counts.ne(0).to(at::kLong).mul_(levels).amax(1, /*keepdim=*/true);
  const at::Tensor step =
      counts.gather(1, greatest).neg_().add_(pixels).floor_divide_(255);
  const at::Tensor divisor = step.clamp_min(1);
  at::Tensor table = at::cumsum(counts, 1)
                         .add_(divisor.floor_divide(2))
                         .floor_divide_(divisor);
  table = at::constant_pad_nd(table.slice(1, 0, 255), {1, 0}).clamp_(0, 255);
  return at::where(step.eq(0), levels, table)
      .to(at::kByte)
      .gather(1, values)
      .view(in.sizes());
}

void CheckByChannels(Params* params) {
  if (!params->Boolean("by_channels")) {
    params->Fail("by_channels", "must be True");
  }
}

TorchOp EqualizeBatch(Params* params) {
  CheckByChannels(params);
  return [](const at::Tensor& in, Random*) { return EqualizeAll(in); };
}

TorchOp Equalize(Params* params) {
  CheckByChannels(params);
  return [](const at::Tensor& in, Random*) {
    std::vector<at::Tensor> channels;
    for (const at::Tensor& channel : in.unbind(0)) {
      channels.push_back(EqualizeChannel(channel));
    }
    return at::stack(channels);
  };
}

enum Side { kDown, kAcross };

int64_t LengthOf(const at::Tensor& image, Side side) {
  return side == kDown ? HeightOf(image) : WidthOf(image);
}

// 0, 1, ... as a column or a row of CHW.
at::Tensor Places(const at::Tensor& like, Side side) {
  const int64_t size = LengthOf(like, side);
  const at::Tensor places = at::arange(size, FloatsLike(like));
  return side == kDown ? places.reshape({1, size, 1})
                       : places.reshape({1, 1, size});
}

struct Gradient {
  // Draws its parameters; values from 0 to 1 over the image.
  std::function<at::Tensor(const at::Tensor& like, Random*)> make;
  // True if it is the same for all images of a size.
  bool fixed = false;
};

Gradient Linear(Params* params) {
  const int angle = params->Integer("angle");
  if (angle != 0 && angle != 90 && angle != 180 && angle != 270) {
    params->Fail("angle", "must be 0, 90, 180 or 270");
  }
  const auto make = [angle](const at::Tensor& like, Random*) {
    const Side side = angle % 180 != 0 ? kDown : kAcross;
    const int64_t size = LengthOf(like, side);
    at::Tensor ramp =
        Places(like, side)
            .div_(static_cast<double>(std::max<int64_t>(size - 1, 1)));
    return angle >= 180 ? ramp.neg_().add_(1) : ramp;
  };
  return {make, true};
}

enum Corner { kTopLeft, kTopRight, kBottomLeft, kBottomRight, kAnyCorner };

Gradient FromCorner(Params* params) {
  const int corner = params->Word("corner", {{"uniform", kAnyCorner},
                                             {"top_left", kTopLeft},
                                             {"top_right", kTopRight},
                                             {"bottom_left", kBottomLeft},
                                             {"bottom_right", kBottomRight}});
  const auto make = [corner](const at::Tensor& like, Random* random) {
    const int64_t chosen = corner == kAnyCorner ? random->Below(4) : corner;
    const double right = static_cast<double>(WidthOf(like) - 1);
    const double bottom = static_cast<double>(HeightOf(like) - 1);
    at::Tensor dx = Places(like, kAcross).sub_(chosen % 2 == 1 ? right : 0);
    at::Tensor dy = Places(like, kDown).sub_(chosen / 2 == 1 ? bottom : 0);
    const double diagonal = std::max(1.0, std::hypot(right, bottom));
    return at::hypot(dx, dy).div_(-diagonal).add_(1);
  };
  return {make, corner != kAnyCorner};
}

// exp(-d^2 / (2 sigma^2)) for each position along a side.
at::Tensor Bell(const at::Tensor& like, Side side, double center,
                double sigma) {
  return Places(like, side)
      .sub_(center)
      .square_()
      .mul_(-0.5 / (sigma * sigma))
      .exp_();
}

Gradient FromPoint(Params* params) {
  Range x, y;
  if (params->Text("center").substr(0, 1) == "(") {
    const std::vector<double> center = params->Tuple("center", 2);
    x = {center[0], center[0]};
    y = {center[1], center[1]};
  } else {
    x = y = params->Draw("center");
  }
  const Range sigma = params->Draw("sigma");
  if (!(sigma.low > 0)) params->Fail("sigma", "must be positive");
  const auto make = [=](const at::Tensor& like, Random* random) {
    const int64_t height = HeightOf(like), width = WidthOf(like);
    const double reach =
        random->Uniform(sigma) * static_cast<double>(std::max(height, width));
    // A two-dimensional Gaussian is the product of two one-dimensional ones.
    const double center_x = random->Uniform(x) * static_cast<double>(width);
    const double center_y = random->Uniform(y) * static_cast<double>(height);
    return Bell(like, kAcross, center_x, reach)
        .mul(Bell(like, kDown, center_y, reach));
  };
  return {make, x.fixed() && y.fixed() && sigma.fixed()};
}

// For batches: null if the images would get different draws.
TorchOp Illuminate(Params* params, const Gradient& gradient, bool batch) {
  const Range intensity = params->Draw("intensity");
  const bool any_sign = !params->Has("sign");
  const double given_sign = any_sign ? 1 : params->Number("sign");
  if (batch && (any_sign || !intensity.fixed() || !gradient.fixed)) {
    return nullptr;
  }
  return [=](const at::Tensor& in, Random* random) {
    const double sign = any_sign ? (random->Coin() ? 1 : -1) : given_sign;
    const double strength = sign * random->Uniform(intensity);
    return ToBytes(
        ToFloat(in).mul_(gradient.make(in, random).mul_(strength).add_(1)));
  };
}

TorchOp MakeMultiply(Params* params, bool batch) {
  if (params->Has("angle")) return Illuminate(params, Linear(params), batch);
  if (params->Has("corner")) {
    return Illuminate(params, FromCorner(params), batch);
  }
  if (params->Has("center")) {
    return Illuminate(params, FromPoint(params), batch);
  }
  const double factor = params->Number("factor");
  return [factor](const at::Tensor& in, Random*) {
    return ToBytes(ToFloat(in).mul_(factor));
  };
}

TorchOp Multiply(Params* params) { return MakeMultiply(params, false); }
TorchOp MultiplyBatch(Params* params) { return MakeMultiply(params, true); }

}  // namespace

const TorchOpTable& TorchColorOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::bitwise_not", Invert, Invert},
      {"at::bitwise_and", Posterize, Posterize},
      {"at::where", Solarize, Solarize},
      {"at::pow", Gamma, Gamma},
      {"at::add+at::clamp", Add, Add},
      {"at::mul+at::sum+at::expand", Grayscale, Grayscale},
      {"at::lerp", Saturation, Saturation},
      {"at::amin+at::amax", AutoContrast, AutoContrast},
      {"at::bincount+at::cumsum+at::gather", Equalize, EqualizeBatch},
      {"at::mul+at::clamp", Multiply, MultiplyBatch},
  };
  return *ops;
}

}  // namespace feedrate
