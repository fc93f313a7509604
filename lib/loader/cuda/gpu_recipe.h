// Recipes of pipelines in the words of one launch: which window, what happens
// to it, and with what it is mixed. Needs no GPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/cuda/mix.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/params.h"
#include "lib/loader/batch_mix.h"

namespace feedrate {

// Crop, steps, normalisation and mixing of a loader job. Draws are those of the
// loader on the CPU (lib/loader) for the same seed: the same crops, the same
// choices, the same pairs. Thread-safe.
class GpuRecipe {
 public:
  // One transform of `cuda`, several of them (kStepsOp of lib/loader/recipe.h)
  // or a mixing operation (lib/loader/mix_spec.h). InvalidArgument names what
  // one launch does not do.
  static absl::StatusOr<GpuRecipe> Create(const TransformSpec& spec);

  // For one image. Its window lies within the image, but for a crop that is
  // larger than it.
  fused::Recipe Draw(FusedSize image, Random* random) const;

  // Whether samples of a batch are mixed in pairs, and how those of batch
  // number `batch` are.
  bool mixes() const { return batch_.mixes; }
  MixPlan DrawPlan(uint64_t seed, int64_t batch) const;

  // Everything but images, recipes, count and output.
  const fused::RecipeBatch& batch() const { return batch_; }

 private:
  enum class Kind { kFlip, kThird, kJitter };
  // One transform, and one of several.
  struct Part {
    Kind kind = Kind::kFlip;
    FusedOp op;
    fused::Third third = fused::Third::kNone;
  };
  struct Step {
    std::vector<Part> one_of;
    double probability = 1;
  };

  static absl::StatusOr<Part> PartOf(const TransformSpec& spec, bool is_choice);
  absl::Status SetWindow(const TransformSpec& spec);
  absl::Status AddSteps(const TransformSpec& spec);
  absl::Status CheckOrder(const TransformSpec& spec) const;
  fused::Window DrawWindow(FusedSize image, Random* random) const;
  static void Apply(const Part& part, FusedSize image, Random* random,
                    fused::Recipe* recipe);

  // Of a transform that is itself the crop; without `draw`: it is not.
  FusedOp window_;
  bool centre_ = false;
  std::vector<Step> steps_;
  MixOptions mix_;
  fused::RecipeBatch batch_;
};

// What the draws of an item begin with: as the loader on the CPU does.
Random ItemRandom(uint64_t seed, int64_t item);

// A plan in the words of a launch, for a sample whose partner is there at place
// `partner`; -1: it stays as it is.
fused::Mix MixOfPlan(const MixPlan& plan, int partner);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_RECIPE_H_
