#include "lib/adapters/torch/tone.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <cstdint>
#include <vector>

namespace feedrate {
namespace {

TorchOp AutoContrast(Params* params) {
  if (params->Number("cutoff") != 0) {
    params->Fail("cutoff", "must be 0");
  }
  return [](const at::Tensor& in, Random*) {
    const at::Tensor low = at::amin(in, {-2, -1}, /*keepdim=*/true);
    const at::Tensor high = at::amax(in, {-2, -1}, /*keepdim=*/true);
    const at::Tensor flat = high.eq(low);
    const at::Tensor span = ToFloat(high).sub_(low);
    // A channel of one value stays as it is.
    const at::Tensor from = at::where(flat, 0, ToFloat(low));
    const at::Tensor scale = at::where(flat, 1, span.reciprocal_().mul_(255));
    return ToBytes(ToFloat(in).sub_(from).mul_(scale));
  };
}

// As Pillow does it: whole numbers, the largest value's pixels left out of the
// step, the table moved up by one.
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

// Every channel of every image at once, and nothing that the host must know.
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

}  // namespace

const TorchOpTable& TorchToneOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::amin+at::amax", AutoContrast, AutoContrast},
      {"at::bincount+at::cumsum+at::gather", Equalize, EqualizeBatch},
  };
  return *ops;
}

}  // namespace feedrate
