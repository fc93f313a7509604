#include "lib/ops/cuda/fused_op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/ops/cuda/kernels/blur_math.h"

namespace feedrate {
namespace {

using fused::Edge;
using fused::Jitter;
using fused::Projection;
using fused::Tone;

using DrawProjection = std::function<Projection(FusedSize, Random*)>;

FusedOp Warp(DrawProjection draw, Edge edge = Edge::kZero) {
  FusedOp op;
  op.kernel = FusedOp::Kernel::kWarp;
  op.edge = edge;
  op.param_bytes = sizeof(Projection);
  op.draw = [draw = std::move(draw)](FusedSize in, Random* random,
                                     FusedParams* params) {
    params->projection = draw(in, random);
  };
  return op;
}

FusedSize ReadSize(Params* params) {
  const std::vector<double> sides = params->Tuple("size", 2);
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1) {
    params->Fail("size", "must be positive");
    return {1, 1};
  }
  return {static_cast<int>(sides[0]), static_cast<int>(sides[1])};
}

Projection Stretch(FusedSize in, FusedSize out) {
  return fused::ResizeProjection(in.height, in.width, out.height, out.width);
}

// Start of a window of `size` along one side. Negative if the image is smaller,
// which is then centered on zeros.
int Start(int side, int size, double fixed, bool uniform, Random* random) {
  const int free = side - size;
  // Always draws, so that later draws do not depend on sizes.
  const int64_t drawn = uniform ? random->Below(std::max(free, 0) + 1) : 0;
  if (free < 0) return -(-free / 2);
  if (uniform) return static_cast<int>(drawn);
  return fixed < 0 ? free / 2 : std::min(static_cast<int>(fixed), free);
}

FusedOp Crop(Params* params) {
  const FusedSize size = ReadSize(params);
  std::vector<double> at = {-1, -1};
  bool uniform = false;
  if (params->IsTuple("position")) {
    at = params->Tuple("position", 2);
    at.resize(2);
  } else {
    uniform = params->Word("position", {{"center", 0}, {"uniform", 1}}) == 1;
  }
  FusedOp op = Warp([=](FusedSize in, Random* random) {
    const int top = Start(in.height, size.height, at[0], uniform, random);
    const int left = Start(in.width, size.width, at[1], uniform, random);
    return fused::CropProjection(top, left, size.width, false);
  });
  op.fixed = !uniform;
  op.out_size = [size](FusedSize) { return size; };
  return op;
}

FusedOp Resize(Params* params) {
  const FusedSize size = ReadSize(params);
  FusedOp op = Warp([size](FusedSize in, Random*) { return Stretch(in, size); },
                    Edge::kReplicate);
  op.fixed = true;
  op.out_size = [size](FusedSize) { return size; };
  return op;
}

FusedOp ResizeSide(Params* params) {
  const int64_t side = params->Integer("side");
  if (side < 1) params->Fail("side", "must be positive");
  const bool longest =
      params->Word("which", {{"shortest", 0}, {"longest", 1}}) == 1;
  const auto out_size = [=](FusedSize in) {
    const int from =
        longest ? std::max(in.height, in.width) : std::min(in.height, in.width);
    const auto scaled = [=](int length) {
      return static_cast<int>(std::max<int64_t>(1, length * side / from));
    };
    return FusedSize{scaled(in.height), scaled(in.width)};
  };
  FusedOp op =
      Warp([=](FusedSize in, Random*) { return Stretch(in, out_size(in)); },
           Edge::kReplicate);
  op.fixed = true;
  op.out_size = out_size;
  return op;
}

FusedOp ResizedCrop(Params* params) {
  const FusedSize size = ReadSize(params);
  std::vector<double> scale = params->Tuple("scale", 2);
  std::vector<double> ratio = params->Tuple("ratio", 2);
  scale.resize(2, 1);
  ratio.resize(2, 1);
  WindowShape shape;
  shape.area = {scale[0], scale[1]};
  shape.ratio = {ratio[0], ratio[1]};
  // Beyond the window's border, pixels are interpolated with those outside the
  // window, unlike a crop that is stored first: a difference of half a pixel at
  // the edge.
  FusedOp op = Warp(
      [=](FusedSize in, Random* random) {
        const DrawnWindow window =
            DrawResizedWindow(shape, in.height, in.width, random);
        Projection p = Stretch({window.height, window.width}, size);
        p.h[2] += static_cast<float>(window.x);
        p.h[5] += static_cast<float>(window.y);
        return p;
      },
      Edge::kReplicate);
  op.out_size = [size](FusedSize) { return size; };
  return op;
}

FusedOp Flip(Params* params) {
  const bool horizontal =
      params->Word("axis", {{"horizontal", 1}, {"vertical", 0}}) == 1;
  FusedOp op = Warp([horizontal](FusedSize in, Random*) {
    Projection p = fused::CropProjection(0, 0, in.width, horizontal);
    if (!horizontal) {
      p.h[4] = -1;
      p.h[5] = static_cast<float>(in.height - 1);
    }
    return p;
  });
  op.fixed = true;
  return op;
}

FusedOp Pad(Params* params) {
  const int border = params->Integer("border");
  if (border < 0) params->Fail("border", "must be at least 0");
  FusedOp op = Warp([border](FusedSize in, Random*) {
    return fused::CropProjection(-border, -border, in.width, false);
  });
  op.fixed = true;
  op.out_size = [border](FusedSize in) {
    return FusedSize{in.height + 2 * border, in.width + 2 * border};
  };
  return op;
}

FusedOp Transpose(Params*) {
  FusedOp op = Warp([](FusedSize, Random*) {
    Projection p;
    p.h[0] = p.h[4] = 0;
    p.h[1] = p.h[3] = 1;
    return p;
  });
  op.fixed = true;
  op.out_size = [](FusedSize in) { return FusedSize{in.width, in.height}; };
  return op;
}

FusedOp Affine(Params* params) {
  const Range degrees = params->DrawOr("degrees", 0);
  const Range scale = params->DrawOr("scale", 1);
  std::vector<double> shear = {0, 0};
  std::vector<double> shift = {0, 0};
  if (params->Has("shear")) shear = params->Tuple("shear", 2);
  if (params->Has("shift")) shift = params->Tuple("shift", 2);
  shear.resize(2);
  shift.resize(2);
  FusedOp op = Warp([=](FusedSize in, Random* random) {
    fused::AffineMap map;
    map.degrees = random->Uniform(degrees);
    map.scale = random->Uniform(scale);
    map.shear_x_degrees = shear[0];
    map.shear_y_degrees = shear[1];
    map.x = shift[0];
    map.y = shift[1];
    return fused::AffineProjection(map, in.height, in.width);
  });
  op.fixed = degrees.fixed() && scale.fixed();
  return op;
}

FusedOp Perspective(Params* params) {
  if (params->Has("matrix")) {
    std::vector<double> matrix = params->Tuple("matrix", 8);
    matrix.resize(8);
    Projection p;
    for (int i = 0; i < 8; ++i) p.h[i] = static_cast<float>(matrix[i]);
    FusedOp op = Warp([p](FusedSize, Random*) { return p; });
    op.fixed = true;
    return op;
  }
  const double distortion = params->Number("distortion_scale");
  return Warp([distortion](FusedSize in, Random* random) {
    // Each corner moves inwards by up to this share of half a side.
    const auto inwards = [&](int side) {
      return std::floor(random->Uniform(0, distortion * side / 2));
    };
    fused::Corners to;
    for (int i = 0; i < 4; ++i) {
      const bool right = i % 2 == 1;
      const bool below = i / 2 == 1;
      const double dx = inwards(in.width);
      const double dy = inwards(in.height);
      to.x[i] = right ? in.width - 1 - dx : dx;
      to.y[i] = below ? in.height - 1 - dy : dy;
    }
    return fused::SolvePerspective(to, in.height, in.width);
  });
}

FusedOp ColorJitter(Params* params) {
  const Range brightness = params->DrawOr("brightness", 1);
  const Range contrast = params->DrawOr("contrast", 1);
  const Range saturation = params->DrawOr("saturation", 1);
  const Range hue = params->DrawOr("hue", 0);
  const bool shuffled =
      params->Has("order") && params->Word("order", {{"random", 1}}) == 1;
  // The rest are kNoStep.
  std::array<uint32_t, 4> steps = {fused::kNoStep, fused::kNoStep,
                                   fused::kNoStep, fused::kNoStep};
  int count = 0;
  if (params->Has("brightness")) steps[count++] = fused::kBrightness;
  if (params->Has("contrast")) steps[count++] = fused::kContrast;
  if (params->Has("saturation")) steps[count++] = fused::kSaturation;
  if (params->Has("hue")) steps[count++] = fused::kHue;
  if (count == 0) params->Fail("brightness", "or another part must be there");
  FusedOp op;
  op.kernel = FusedOp::Kernel::kJitter;
  op.param_bytes = sizeof(Jitter);
  op.draw = [=](FusedSize, Random* random, FusedParams* drawn) {
    std::array<uint32_t, 4> order = steps;
    // Like Random::Shuffle, for the first ones.
    for (int i = shuffled ? count : 0; i > 1; --i) {
      std::swap(order[i - 1], order[random->Below(i)]);
    }
    Jitter jitter;
    jitter.brightness = static_cast<float>(random->Uniform(brightness));
    jitter.contrast = static_cast<float>(random->Uniform(contrast));
    jitter.saturation = static_cast<float>(random->Uniform(saturation));
    jitter.hue = static_cast<float>(random->Uniform(hue));
    jitter.steps = fused::StepsOf(order[0], order[1], order[2], order[3]);
    drawn->jitter = jitter;
  };
  op.fixed = !shuffled && brightness.fixed() && contrast.fixed() &&
             saturation.fixed() && hue.fixed();
  return op;
}

FusedOp Blur(Params* params) {
  FusedOp op;
  op.kernel = FusedOp::Kernel::kBlur;
  const int size = params->Integer("size");
  op.radius = size / 2;
  if (size % 2 == 0 || op.radius < 1 || op.radius > fused::kMaxBlurRadius) {
    params->Fail("size", absl::StrCat("must be odd, from 3 to ",
                                      2 * fused::kMaxBlurRadius + 1));
  }
  const Range sigma = params->Draw("sigma");
  if (!(sigma.low > 0)) params->Fail("sigma", "must be above 0");
  op.param_bytes = sizeof(float);
  op.draw = [sigma](FusedSize, Random* random, FusedParams* drawn) {
    drawn->amount = static_cast<float>(random->Uniform(sigma));
  };
  op.fixed = sigma.fixed();
  return op;
}

FusedOp ToneOp(Params* params) {
  FusedOp op;
  op.kernel = FusedOp::Kernel::kTone;
  op.tone = static_cast<Tone>(
      params->Word("kind", {{"invert", static_cast<int>(Tone::kInvert)},
                            {"posterize", static_cast<int>(Tone::kPosterize)},
                            {"solarize", static_cast<int>(Tone::kSolarize)},
                            {"multiply", static_cast<int>(Tone::kMultiply)}}));
  const Range amount = params->DrawOr("amount", 0);
  op.param_bytes = sizeof(float);
  op.draw = [amount](FusedSize, Random* random, FusedParams* drawn) {
    drawn->amount = static_cast<float>(random->Uniform(amount));
  };
  op.fixed = amount.fixed();
  return op;
}

FusedOp Equalize(Params*) {
  FusedOp op;
  op.kernel = FusedOp::Kernel::kEqualize;
  return op;
}

struct Entry {
  absl::string_view native_op;
  FusedOp (*make)(Params* params);
};
constexpr Entry kEntries[] = {
    {"crop", Crop},
    {"resize", Resize},
    {"resize_side", ResizeSide},
    {"resized_crop", ResizedCrop},
    {"flip", Flip},
    {"pad", Pad},
    {"transpose", Transpose},
    {"affine", Affine},
    {"perspective", Perspective},
    {"jitter", ColorJitter},
    {"gaussian_blur", Blur},
    {"tone", ToneOp},
    {"equalize", Equalize},
};

}  // namespace

absl::StatusOr<FusedOp> MakeFusedOp(const TransformSpec& spec) {
  for (const Entry& entry : kEntries) {
    if (entry.native_op != spec.native_op) continue;
    Params params(spec.params);
    FusedOp op = entry.make(&params);
    const absl::Status status = params.Finish();
    if (status.ok() && spec.wrap.empty()) return op;
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": ", spec.native_op, ": ",
        status.ok() ? "knows no wrap" : std::string(status.message())));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      spec.transform, ": the cuda adapter has no operation ", spec.native_op));
}

using fused::ByteImage;

void CallPacker::AddInput(const ByteImage& image) {
  const FusedSize size = {image.height, image.width};
  inputs_.push_back(image);
  in_sizes_.push_back(size);
  out_sizes_.push_back(op_.OutSize(size));
}

void CallPacker::SetOutputs(uint8_t* first, int64_t bytes) {
  outputs_ = first;
  output_bytes_ = bytes;
}

int64_t CallPacker::BlockBytes(int64_t count) const {
  return count * static_cast<int64_t>(2 * sizeof(ByteImage) + op_.param_bytes);
}

CallPacker::Packed CallPacker::Pack(int64_t first, int64_t count,
                                    int64_t num_items, Random* random,
                                    uint8_t* block) const {
  auto* const in = reinterpret_cast<ByteImage*>(block);
  ByteImage* const out = in + count;
  auto* const params = reinterpret_cast<uint8_t*>(out + count);
  Packed packed;
  packed.bytes = BlockBytes(count);
  uint8_t* at = outputs_;
  FusedSize drawn_for;
  FusedParams drawn;
  int64_t item = first;
  for (int64_t i = 0; i < count; ++i) {
    const FusedSize to = out_sizes_[item];
    in[i] = inputs_[item];
    out[i] = {at, to.height, to.width, int64_t{3} * to.width};
    at += output_bytes_;
    packed.largest.height = std::max(packed.largest.height, to.height);
    packed.largest.width = std::max(packed.largest.width, to.width);
    if (op_.draw != nullptr) {
      const FusedSize size = in_sizes_[item];
      if (!op_.fixed || size.height != drawn_for.height ||
          size.width != drawn_for.width) {
        op_.draw(size, random, &drawn);
        drawn_for = size;
      }
      std::memcpy(params + i * op_.param_bytes, &drawn, op_.param_bytes);
    }
    if (++item == num_items) item = 0;
  }
  return packed;
}

}  // namespace feedrate
