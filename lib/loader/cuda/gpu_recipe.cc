#include "lib/loader/cuda/gpu_recipe.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/base/status_macros.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

// Where a crop of `size` begins along a side; before it where it is larger.
int Start(int side, int size, bool centre, Random* random) {
  const int free = side - size;
  if (free < 0) return -(-free / 2);
  return centre ? free / 2 : static_cast<int>(random->Below(free + 1));
}

}  // namespace

absl::StatusOr<GpuRecipe> GpuRecipe::Create(const TransformSpec& spec) {
  const LoaderSpec& loader = *spec.loader;
  GpuRecipe recipe;
  if (loader.channels != 3 || !loader.batch_transform.empty() ||
      loader.mean.size() != 3 || loader.std.size() != 3) {
    return absl::InvalidArgumentError(
        "the loader of cuda makes batches of three channels, not mixed");
  }
  ASSIGN_OR_RETURN(recipe.op_, MakeFusedOp(spec));
  const FusedOp& op = recipe.op_;
  if (spec.native_op == "crop") recipe.kind_ = Kind::kCrop;
  if (spec.native_op == "resized_crop") recipe.kind_ = Kind::kResizedCrop;
  if (op.kernel == FusedOp::Kernel::kJitter) recipe.kind_ = Kind::kJitter;
  if (op.kernel == FusedOp::Kernel::kTone &&
      op.tone == fused::Tone::kSolarize) {
    recipe.kind_ = Kind::kSolarize;
  }
  if (spec.native_op == "flip") {
    Random unused;
    FusedParams params;
    op.draw({2, 2}, &unused, &params);
    if (params.projection.h[0] == -1) recipe.kind_ = Kind::kFlip;
  }
  const bool crops =
      recipe.kind_ == Kind::kCrop || recipe.kind_ == Kind::kResizedCrop;
  if (recipe.kind_ == Kind::kNothing || crops != loader.is_crop) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": ", spec.native_op,
                     " is no part of the recipe that cuda runs in one launch"));
  }
  recipe.centre_ = loader.crop_position == "center";
  fused::RecipeBatch& batch = recipe.batch_;
  batch.height = batch.width = loader.crop;
  batch.sampling = recipe.kind_ == Kind::kResizedCrop
                       ? fused::Sampling::kBilinear
                       : fused::Sampling::kCrop;
  batch.colours = recipe.kind_ == Kind::kJitter;
  batch.thirds = recipe.kind_ == Kind::kSolarize;
  for (int c = 0; c < 3; ++c) {
    // The kernel's values are bytes over 255.
    const double scale = 255 / loader.input_scale;
    batch.mean[c] = static_cast<float>(loader.mean[c] / scale);
    batch.std[c] = static_cast<float>(loader.std[c] / scale);
  }
  return recipe;
}

fused::Window GpuRecipe::CropWindow(FusedSize image, Random* random) const {
  fused::Window window;
  window.height = batch_.height;
  window.width = batch_.width;
  window.top = Start(image.height, batch_.height, centre_, random);
  window.left = Start(image.width, batch_.width, centre_, random);
  return window;
}

fused::Recipe GpuRecipe::Draw(FusedSize image, Random* random) const {
  fused::Recipe recipe;
  FusedParams params;
  if (kind_ != Kind::kCrop && kind_ != Kind::kResizedCrop) {
    recipe.window = CropWindow(image, random);
  }
  if (op_.draw != nullptr) op_.draw(image, random, &params);
  const float* h = params.projection.h;
  switch (kind_) {
    case Kind::kCrop:
      recipe.window = {Rounded(h[5]), Rounded(h[2]), batch_.height,
                       batch_.width};
      break;
    case Kind::kResizedCrop:
      // Steps between pixels of the output, and half a step to its first.
      recipe.window.height = Rounded(h[4] * batch_.height);
      recipe.window.width = Rounded(h[0] * batch_.width);
      recipe.window.top = Rounded(h[5] - 0.5 * h[4] + 0.5);
      recipe.window.left = Rounded(h[2] - 0.5 * h[0] + 0.5);
      break;
    case Kind::kFlip:
      recipe.flip = 1;
      break;
    case Kind::kJitter:
      recipe.jitter = params.jitter;
      break;
    case Kind::kSolarize:
      recipe.third = fused::Third::kSolarize;
      break;
    case Kind::kNothing:
      break;
  }
  return recipe;
}

}  // namespace feedrate
