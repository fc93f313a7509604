// Recipes of pipelines in the words of one launch: which window, and what
// happens to it.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/random.h"

namespace feedrate {

// Crop, transform and normalisation of a loader job. Thread-safe.
class GpuRecipe {
 public:
  // InvalidArgument names what one launch does not do.
  static absl::StatusOr<GpuRecipe> Create(const TransformSpec& spec);

  // For one image. Its window lies within the image, but for a crop that is
  // larger than it.
  fused::Recipe Draw(FusedSize image, Random* random) const;

  // Everything but images, recipes, count and output.
  const fused::RecipeBatch& batch() const { return batch_; }

 private:
  enum class Kind { kNothing, kCrop, kResizedCrop, kFlip, kJitter, kSolarize };

  fused::Window CropWindow(FusedSize image, Random* random) const;

  Kind kind_ = Kind::kNothing;
  FusedOp op_;
  bool centre_ = false;
  fused::RecipeBatch batch_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_
