#include "lib/adapters/torch/light.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/hypot.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace feedrate {
namespace {

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
  // Draws what it needs; from 0 to 1 over the image.
  std::function<at::Tensor(const at::Tensor& like, Random*)> make;
  // Whether it is the same for all images of a size.
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

// exp(-d^2 / (2 sigma^2)) of each place along a side.
at::Tensor Bell(const at::Tensor& like, Side side, double centre,
                double sigma) {
  return Places(like, side)
      .sub_(centre)
      .square_()
      .mul_(-0.5 / (sigma * sigma))
      .exp_();
}

Gradient FromPoint(Params* params) {
  Range x, y;
  if (params->Text("center").substr(0, 1) == "(") {
    const std::vector<double> centre = params->Tuple("center", 2);
    x = {centre[0], centre[0]};
    y = {centre[1], centre[1]};
  } else {
    x = y = params->Draw("center");
  }
  const Range sigma = params->Draw("sigma");
  if (!(sigma.low > 0)) params->Fail("sigma", "must be positive");
  const auto make = [=](const at::Tensor& like, Random* random) {
    const int64_t height = HeightOf(like), width = WidthOf(like);
    const double reach =
        random->Uniform(sigma) * static_cast<double>(std::max(height, width));
    // A Gaussian of two coordinates is the product of two of one.
    const double centre_x = random->Uniform(x) * static_cast<double>(width);
    const double centre_y = random->Uniform(y) * static_cast<double>(height);
    return Bell(like, kAcross, centre_x, reach)
        .mul(Bell(like, kDown, centre_y, reach));
  };
  return {make, x.fixed() && y.fixed() && sigma.fixed()};
}

// For batches null where images would differ in what is drawn.
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

const TorchOpTable& TorchLightOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::mul+at::clamp", Multiply, MultiplyBatch},
  };
  return *ops;
}

}  // namespace feedrate
