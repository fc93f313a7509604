#include "lib/adapters/torch/rearrange.h"

#include <ATen/ops/arange.h>
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

#include "lib/adapters/torch/per_image.h"

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

// Whether dims count from the last, and so are the same in a batch.
bool FromTheLast(const std::vector<int64_t>& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](int64_t dim) { return dim < 0 && dim >= -3; });
}

TorchOp FlipBatch(Params* params) {
  return FromTheLast(ReadWhole(params, "dims", 0)) ? Flip(params) : nullptr;
}

TorchOp Transpose(Params* params) {
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 2);
  return [dims](const at::Tensor& in, Random*) {
    return in.transpose(dims[0], dims[1]).contiguous();
  };
}

TorchOp TransposeBatch(Params* params) {
  return FromTheLast(ReadWhole(params, "dims", 2)) ? Transpose(params)
                                                   : nullptr;
}

TorchOp Rotate(Params* params) {
  const Range times = params->DrawInteger("k");
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 2);
  return [=](const at::Tensor& in, Random* random) {
    return at::rot90(in, random->Integer(times), dims)
        .clone(at::MemoryFormat::Contiguous);
  };
}

// Quarter turns that differ give sizes that do.
TorchOp RotateBatch(Params* params) {
  const bool one = params->DrawInteger("k").fixed();
  return one && FromTheLast(ReadWhole(params, "dims", 2)) ? Rotate(params)
                                                          : nullptr;
}

TorchOp Pad(Params* params) {
  const std::vector<int64_t> pad = ReadWhole(params, "pad", 4);
  const double value = params->Number("value");
  return [=](const at::Tensor& in, Random*) {
    return at::constant_pad_nd(in, pad, value);
  };
}

// Tiles of one size. An image that the grid does not divide gets zeros at its
// right and lower edge, which are cut off again.
struct Tiling {
  int64_t rows = 1;
  int64_t columns = 1;

  int64_t count() const { return rows * columns; }

  // Of NCHW, image by image: tiles, channels, height, width.
  at::Tensor Cut(const at::Tensor& in) const {
    const int64_t more_y = (rows - in.size(2) % rows) % rows;
    const int64_t more_x = (columns - in.size(3) % columns) % columns;
    const at::Tensor padded =
        more_y + more_x == 0 ? in
                             : at::constant_pad_nd(in, {0, more_x, 0, more_y});
    const int64_t tile_y = padded.size(2) / rows;
    const int64_t tile_x = padded.size(3) / columns;
    return padded
        .reshape({in.size(0), in.size(1), rows, tile_y, columns, tile_x})
        .permute({0, 2, 4, 1, 3, 5})
        .reshape({in.size(0) * count(), in.size(1), tile_y, tile_x});
  }

  // The other way round, to the size of `in`.
  at::Tensor Join(const at::Tensor& tiles, const at::Tensor& in) const {
    const int64_t tile_y = tiles.size(2), tile_x = tiles.size(3);
    return tiles.view({in.size(0), rows, columns, in.size(1), tile_y, tile_x})
        .permute({0, 3, 1, 4, 2, 5})
        .reshape({in.size(0), in.size(1), rows * tile_y, columns * tile_x})
        .slice(2, 0, in.size(2))
        .slice(3, 0, in.size(3))
        .contiguous();
  }
};

// Tiles change places.
TorchOp Jigsaw(Params* params) {
  const std::vector<int64_t> grid = ReadWhole(params, "grid", 2);
  const Tiling tiling = {grid[0], grid[1]};
  if (tiling.rows < 1 || tiling.columns < 1) {
    params->Fail("grid", "must be of positive numbers");
    return nullptr;
  }
  at::Tensor fixed;
  if (params->Has("order")) {
    fixed = at::tensor(ReadWhole(params, "order", tiling.count()), at::kLong);
  }
  return [=](const at::Tensor& in, Random*) {
    const at::Tensor images = Batched(in);
    const at::Tensor tiles = tiling.Cut(images);
    at::Tensor order;
    if (fixed.defined()) {
      const at::Tensor first = at::arange(ImagesOf(in)).mul_(tiling.count());
      order = fixed.add(first.view({-1, 1})).flatten().to(in.device());
    } else if (in.dim() == 3) {
      order = at::randperm(tiling.count(), IndexesLike(in));
    } else {
      order = OrderOfEach(tiling.count(), in);
    }
    return UnbatchedLike(
        in, tiling.Join(at::index_select(tiles, 0, order), images));
  };
}

}  // namespace

const TorchOpTable& TorchRearrangeOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::flip", Flip, FlipBatch},
      {"at::transpose+at::contiguous", Transpose, TransposeBatch},
      {"at::rot90+at::contiguous", Rotate, RotateBatch},
      {"at::constant_pad_nd", Pad, Pad},
      {"at::reshape+at::permute+at::index_select", Jigsaw, Jigsaw},
  };
  return *ops;
}

}  // namespace feedrate
