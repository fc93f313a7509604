#include "lib/adapters/torch/crop.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/adapters/worker/params.h"

namespace feedrate {
namespace {

struct Size {
  int64_t height = 1;
  int64_t width = 1;
};

// `size=(HEIGHT,WIDTH)`.
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
  // The CPU alone does it on bytes.
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

enum class Position { kCentre, kUniform, kFixed };

// A window of a fixed size; where the image is smaller, centred on `fill`.
struct Crop {
  Size size;
  Position position = Position::kCentre;
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
      case Position::kCentre:
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

// Windows that differ are no tensor.
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

}  // namespace

const TorchOpTable& TorchCropOps() {
  static const auto* const ops = new TorchOpTable{
      {"at::upsample_bilinear2d", Resize, Resize},
      {"at::slice+at::constant_pad_nd", MakeCrop, MakeCropOfBatch},
      {"at::slice+at::upsample_bilinear2d", CropAndResize},
  };
  return *ops;
}

}  // namespace feedrate
