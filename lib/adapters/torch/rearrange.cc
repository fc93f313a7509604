#include "lib/adapters/torch/rearrange.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/rot90.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace feedrate {
namespace {

std::vector<int64_t> ReadWhole(Params* params, absl::string_view name,
                               size_t size) {
  std::vector<int64_t> whole;
  for (double number : params->Tuple(name, size)) {
    whole.push_back(std::lround(number));
  }
  // After a mistake, so that readers need not look.
  whole.resize(std::max(size, whole.size()));
  return whole;
}

TorchOp Flip(Params* params) {
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 0);
  return [dims](const at::Tensor& in, Random*) { return at::flip(in, dims); };
}

TorchOp Transpose(Params* params) {
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 2);
  return [dims](const at::Tensor& in, Random*) {
    return in.transpose(dims[0], dims[1]).contiguous();
  };
}

TorchOp Rotate(Params* params) {
  const Range times = params->DrawInteger("k");
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 2);
  return [=](const at::Tensor& in, Random* random) {
    return at::rot90(in, random->Integer(times), dims)
        .clone(at::MemoryFormat::Contiguous);
  };
}

TorchOp Pad(Params* params) {
  const std::vector<int64_t> pad = ReadWhole(params, "pad", 4);
  const double value = params->Number("value");
  return [=](const at::Tensor& in, Random*) {
    return at::constant_pad_nd(in, pad, value);
  };
}

// Tiles of one size change places. An image that the grid does not divide gets
// zeros at its right and lower edge, which are cut off again.
TorchOp Jigsaw(Params* params) {
  const std::vector<int64_t> grid = ReadWhole(params, "grid", 2);
  const int64_t rows = grid[0], columns = grid[1];
  if (rows < 1 || columns < 1) {
    params->Fail("grid", "must be of positive numbers");
    return nullptr;
  }
  at::Tensor fixed;
  if (params->Has("order")) {
    fixed = at::tensor(ReadWhole(params, "order", rows * columns), at::kLong);
  }
  return [=](const at::Tensor& in, Random*) {
    const int64_t channels = in.size(0), height = in.size(1),
                  width = in.size(2);
    const int64_t more_y = (rows - height % rows) % rows;
    const int64_t more_x = (columns - width % columns) % columns;
    const at::Tensor padded =
        more_y + more_x == 0 ? in
                             : at::constant_pad_nd(in, {0, more_x, 0, more_y});
    const int64_t tile_y = padded.size(1) / rows;
    const int64_t tile_x = padded.size(2) / columns;
    const at::Tensor tiles =
        padded.reshape({channels, rows, tile_y, columns, tile_x})
            .permute({1, 3, 0, 2, 4})
            .reshape({rows * columns, channels, tile_y, tile_x});
    const at::Tensor order =
        fixed.defined() ? fixed.to(in.device())
                        : at::randperm(rows * columns, IndexesLike(in));
    return at::index_select(tiles, 0, order)
        .view({rows, columns, channels, tile_y, tile_x})
        .permute({2, 0, 3, 1, 4})
        .reshape({channels, padded.size(1), padded.size(2)})
        .slice(1, 0, height)
        .slice(2, 0, width)
        .contiguous();
  };
}

}  // namespace

const TorchOpTable& TorchRearrangeOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::flip", Flip},
      {"at::transpose+at::contiguous", Transpose},
      {"at::rot90+at::contiguous", Rotate},
      {"at::constant_pad_nd", Pad},
      {"at::reshape+at::permute+at::index_select", Jigsaw},
  };
  return *ops;
}

}  // namespace feedrate
