// Turns pipeline recipes into the parameters of one kernel launch: the window,
// what is done to it, and how it is mixed. Needs no GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source.h"
#include "lib/ops/cuda/fused_op.h"
#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/params.h"

namespace feedrate {

// Crop, steps, normalization and mixing of a loader job. For the same seed it
// draws the same crops, choices and pairs as the CPU loader (lib/loader).
// Thread-safe.
class GpuRecipe {
 public:
  // Steps are transforms of `cuda`. InvalidArgument names what one launch
  // cannot do.
  static absl::StatusOr<GpuRecipe> Create(const Recipe& recipe,
                                          const MixOptions& mix);

  // Draws the recipe for one image. The window lies within the image, unless
  // the crop is larger than the image.
  fused::Recipe Draw(FusedSize image, Random* random) const;

  // Whether samples of a batch are mixed in pairs, and how those of batch
  // number `batch` are mixed.
  bool mixes() const { return batch_.mixes; }
  MixPlan DrawPlan(uint64_t seed, int64_t batch, int64_t epoch = 0) const;

  // Whether one of the kernels that need thread block clusters runs it
  // (compute capability 9.0).
  bool needs_clusters() const {
    return batch_.sampling != fused::Sampling::kCrop || batch_.colors ||
           batch_.thirds;
  }
  // The shape of one sample.
  SampleShape shape() const {
    return {3, batch_.height, batch_.width, format_};
  }
  // Everything but images, recipes, count and output.
  const fused::RecipeBatch& batch() const { return batch_; }

 private:
  enum class Kind { kFlip, kThird, kJitter };
  // One transform, and a choice of several.
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
  absl::Status AddSteps(const Recipe& recipe);
  fused::Window DrawWindow(FusedSize image, Random* random) const;
  static void Apply(const Part& part, FusedSize image, Random* random,
                    fused::Recipe* recipe);

  // Set if the transform itself is the crop; without `draw` it is not.
  FusedOp window_;
  bool center_ = false;
  // Recipe::resize.
  int resize_ = 0;
  std::vector<Step> steps_;
  MixOptions mix_;
  SampleFormat format_ = SampleFormat::kFloatPlanes;
  fused::RecipeBatch batch_;
};

// Random generator for an item, seeded like that of the CPU loader.
Random ItemRandom(uint64_t seed, int64_t item, int64_t epoch = 0);

// Mixing parameters for a sample whose partner is at place `partner` of the
// launch; -1: the sample stays unmixed.
fused::Mix MixOfPlan(const MixPlan& plan, int partner);

// Which files the CPU should decode (only the window) and which the engines
// should (the whole file). Needs no GPU.

// Cost of decoding an item on the CPU, relative to an engine. If both decode,
// the CPU should take the cheapest items. Thread-safe.
class DecodeCost {
 public:
  // Both must outlive it.
  DecodeCost(const Source& source, const GpuRecipe& recipe);

  // The first thread that opens a file reports its size. Until then the file
  // counts as a photograph of typical size.
  bool Knows(int64_t item) const;
  void Learn(int64_t item, FusedSize size, bool engine_decodes);

  // Relative cost of the window that `item` has with this seed; 0: an engine
  // cannot decode the file.
  double Of(int64_t item, uint64_t seed, int64_t epoch = 0) const;

 private:
  struct Known {
    FusedSize size;
    bool engine_decodes = true;
  };
  Known KnownOf(int64_t item) const;

  const Source& source_;
  const GpuRecipe& recipe_;
  // Height, width and whether an engine decodes it, packed in one word; 0:
  // unknown.
  std::vector<std::atomic<uint64_t>> known_;
};

}  // namespace feedrate
