// ATen: crops, sizes and rearranged pixels. Parameters of each operation:
//
//   at::upsample_bilinear2d  align_corners; size; or max_size, side
//   at::slice+at::constant_pad_nd  size, pad_if_needed, fill, position
//   at::slice+at::upsample_bilinear2d  size, align_corners, scale, ratio,
//     tries, fallback
//   at::flip  dims
//   at::transpose+at::contiguous  dims
//   at::rot90+at::contiguous  k, dims
//   at::constant_pad_nd  pad=(left,right,top,bottom), value
//   at::reshape+at::permute+at::index_select  grid=(rows,columns), order
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/rot90.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/adapters/torch/op.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

struct Size {
  int64_t height = 1;
  int64_t width = 1;
};

// Reads `size=(HEIGHT,WIDTH)`.
Size ReadSize(Params* params) {
  const std::vector<double> sides = params->Tuple("size", 2);
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1) {
    params->Fail("size", "must be positive");
    return {};
  }
  return {std::lround(sides[0]), std::lround(sides[1])};
}

bool ReadAlignCorners(Params* params) {
  return params->Boolean("align_corners");
}

at::Tensor Upsample(const at::Tensor& in, Size size, bool align_corners) {
  const auto upsampled = [&](const at::Tensor& batch) {
    return at::upsample_bilinear2d(batch, {size.height, size.width},
                                   align_corners);
  };
  const at::Tensor batch = Batched(in);
  // Only the CPU supports bytes.
  return UnbatchedLike(in, in.is_cpu() ? upsampled(batch)
                                       : ToBytes(upsampled(ToFloat(batch))))
      .contiguous();
}

TorchOp Resize(Params* params) {
  const bool align_corners = ReadAlignCorners(params);
  if (!params->Has("max_size")) {
    const Size size = ReadSize(params);
    return [=](const at::Tensor& in, Random*) {
      return Upsample(in, size, align_corners);
    };
  }
  const int side = params->Integer("max_size");
  if (side < 1) params->Fail("max_size", "must be positive");
  const bool longest =
      params->Word("side", {{"shortest", 0}, {"longest", 1}}) == 1;
  return [=](const at::Tensor& in, Random*) {
    const int64_t height = HeightOf(in), width = WidthOf(in);
    const int64_t from =
        longest ? std::max(height, width) : std::min(height, width);
    const auto scaled = [side, from](int64_t length) {
      return std::max<int64_t>(1, length * side / from);
    };
    return Upsample(in, {scaled(height), scaled(width)}, align_corners);
  };
}

struct Window {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 1;
  int64_t width = 1;

  at::Tensor Of(const at::Tensor& in) const {
    return in.slice(-2, y, y + height).slice(-1, x, x + width);
  }
};

enum class Position { kCenter, kUniform, kFixed };

// A window of a fixed size. Smaller images are centered on `fill`.
struct Crop {
  Size size;
  Position position = Position::kCenter;
  int64_t y = 0;
  int64_t x = 0;
  bool pad = false;
  double fill = 0;

  Window Place(const at::Tensor& in, Random* random) const {
    Window window;
    window.height = std::min(size.height, HeightOf(in));
    window.width = std::min(size.width, WidthOf(in));
    const int64_t free_y = HeightOf(in) - window.height;
    const int64_t free_x = WidthOf(in) - window.width;
    switch (position) {
      case Position::kCenter:
        window.y = free_y / 2;
        window.x = free_x / 2;
        break;
      case Position::kUniform:
        window.y = random->Below(free_y + 1);
        window.x = random->Below(free_x + 1);
        break;
      case Position::kFixed:
        window.y = std::min(y, free_y);
        window.x = std::min(x, free_x);
    }
    return window;
  }

  at::Tensor operator()(const at::Tensor& in, Random* random) const {
    const Window window = Place(in, random);
    const int64_t more_y = size.height - window.height;
    const int64_t more_x = size.width - window.width;
    if ((more_y == 0 && more_x == 0) || !pad) {
      return window.Of(in).clone(at::MemoryFormat::Contiguous);
    }
    return at::constant_pad_nd(
        window.Of(in),
        {more_x / 2, more_x - more_x / 2, more_y / 2, more_y - more_y / 2},
        fill);
  }
};

Crop ReadCrop(Params* params) {
  Crop crop;
  crop.size = ReadSize(params);
  crop.pad = params->Boolean("pad_if_needed");
  crop.fill = params->Number("fill");
  if (params->Has("position")) {
    if (params->Text("position") == "uniform") {
      crop.position = Position::kUniform;
    } else {
      crop.position = Position::kFixed;
      const std::vector<double> at = params->Tuple("position", 2);
      crop.y = at.size() == 2 ? std::lround(at[0]) : -1;
      crop.x = at.size() == 2 ? std::lround(at[1]) : -1;
      if (crop.x < 0 || crop.y < 0) {
        params->Fail("position", "is outside the image");
      }
    }
  }
  return crop;
}

TorchOp MakeCrop(Params* params) { return ReadCrop(params); }

// Different windows do not form a tensor.
TorchOp MakeCropOfBatch(Params* params) {
  const Crop crop = ReadCrop(params);
  if (crop.position == Position::kUniform) return nullptr;
  return crop;
}

TorchOp CropAndResize(Params* params) {
  const Size size = ReadSize(params);
  const bool align_corners = ReadAlignCorners(params);
  const std::vector<double> scale = params->Tuple("scale", 2);
  const std::vector<double> ratio = params->Tuple("ratio", 2);
  WindowShape shape;
  shape.tries = params->Integer("tries");
  params->Word("fallback", {{"center", 0}});
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1])) {
    params->Fail("ratio", "must be positive and ascending");
  }
  if (!(scale[0] >= 0 && scale[0] <= scale[1])) {
    params->Fail("scale", "must be positive and ascending");
  }
  shape.area = {scale[0], scale[1]};
  shape.ratio = {ratio[0], ratio[1]};
  return [=](const at::Tensor& in, Random* random) {
    const DrawnWindow drawn =
        DrawResizedWindow(shape, static_cast<int>(HeightOf(in)),
                          static_cast<int>(WidthOf(in)), random);
    const Window window = {drawn.y, drawn.x, drawn.height, drawn.width};
    return Upsample(window.Of(in), size, align_corners);
  };
}

std::vector<int64_t> ReadWhole(Params* params, absl::string_view name,
                               size_t size) {
  std::vector<int64_t> whole;
  for (double number : params->Tuple(name, size)) {
    whole.push_back(std::lround(number));
  }
  // After an error too, so that callers need not check.
  whole.resize(std::max(size, whole.size()));
  return whole;
}

TorchOp Flip(Params* params) {
  const std::vector<int64_t> dims = ReadWhole(params, "dims", 0);
  return [dims](const at::Tensor& in, Random*) { return at::flip(in, dims); };
}

// True if dims count from the last, and therefore are the same in a batch.
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

// Different quarter turns give different sizes.
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

// Tiles of one size. If the grid does not divide the image, zeros are added at
// the right and lower edge and cut off again.
struct Tiling {
  int64_t rows = 1;
  int64_t columns = 1;

  int64_t count() const { return rows * columns; }

  // Tiles of NCHW, image by image: tiles, channels, height, width.
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

  // The inverse, to the size of `in`.
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

// Permutes tiles.
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

const TorchOpTable& TorchGeometryOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::upsample_bilinear2d", Resize, Resize},
      {"at::slice+at::constant_pad_nd", MakeCrop, MakeCropOfBatch},
      {"at::slice+at::upsample_bilinear2d", CropAndResize},
      {"at::flip", Flip, FlipBatch},
      {"at::transpose+at::contiguous", Transpose, TransposeBatch},
      {"at::rot90+at::contiguous", Rotate, RotateBatch},
      {"at::constant_pad_nd", Pad, Pad},
      {"at::reshape+at::permute+at::index_select", Jigsaw, Jigsaw},
  };
  return *ops;
}

}  // namespace feedrate
