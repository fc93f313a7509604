#include "lib/adapters/torch/op.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

const TorchOpEntry* FindEntry(absl::string_view native_op) {
  for (const TorchOpTable* table : {&TorchColorOps(), &TorchFilterOps(),
                                    &TorchGeometryOps(), &TorchWarpOps()}) {
    for (const TorchOpEntry& entry : *table) {
      if (entry.native_op == native_op) return &entry;
    }
  }
  return nullptr;
}

// Applies a color operation to images with more channels.
constexpr absl::string_view kPerChunk = "per 3-channel chunk, concat";

TorchOp PerChunk(TorchOp op) {
  return [op = std::move(op)](const at::Tensor& in, Random* random) {
    std::vector<at::Tensor> chunks;
    for (int64_t first = 0; first < ChannelsOf(in); first += 3) {
      chunks.push_back(op(in.slice(-3, first, first + 3), random));
    }
    return at::cat(chunks, -3);
  };
}

}  // namespace

absl::StatusOr<TorchOp> MakeTorchOp(const TransformSpec& spec) {
  const TorchOpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": the torch adapter has no operation ",
                     spec.native_op));
  }
  Params params(spec.params);
  TorchOp op = entry->make(&params);
  const absl::Status status = params.Finish();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": ", spec.native_op, ": ", status.message()));
  }
  if (spec.wrap.empty()) return op;
  if (spec.wrap == kPerChunk) return PerChunk(std::move(op));
  return absl::InvalidArgumentError(absl::StrCat(
      spec.transform, ": the torch adapter knows no wrap \"", spec.wrap, "\""));
}

TorchOp MakeTorchBatchOp(const TransformSpec& spec) {
  const TorchOpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr || entry->make_batch == nullptr) return nullptr;
  Params params(spec.params);
  TorchOp op = entry->make_batch(&params);
  // Chunks would draw for all images in turn, instead of for each image.
  return spec.wrap.empty() ? op : nullptr;
}

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

// As one image with all the channels, so that it is one call.
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

at::Tensor PerImage(const std::vector<double>& values, const at::Tensor& in) {
  return at::tensor(values, at::kDouble).to(FloatsLike(in)).view({-1, 1, 1, 1});
}

at::Tensor OrderOfEach(int64_t size, const at::Tensor& in) {
  const int64_t images = in.size(0);
  const at::Tensor first =
      at::arange(images, IndexesLike(in)).mul_(size).view({images, 1});
  return at::rand({images, size}, FloatsLike(in))
      .argsort(int64_t{1})
      .add_(first)
      .flatten();
}

}  // namespace feedrate
