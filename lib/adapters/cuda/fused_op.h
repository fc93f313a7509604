// Entries of configs/transforms/ for the library `cuda`: which kernel, and what
// is drawn for each image. Needs no GPU.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_OP_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_OP_H_

#include <functional>
#include <variant>

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/colour_math.h"
#include "lib/adapters/cuda/tone_math.h"
#include "lib/adapters/cuda/warp_math.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

struct FusedSize {
  int height = 0;
  int width = 0;
};

// Parameters of one image; which of them a kernel reads is its own matter.
union FusedParams {
  fused::Projection projection;
  fused::Jitter jitter;
  // Sigma of a blur, amount of a tone.
  float amount;

  FusedParams() : projection() {}
};

struct FusedOp {
  enum class Kernel { kWarp, kJitter, kBlur, kTone, kEqualize };

  Kernel kernel = Kernel::kWarp;
  fused::Edge edge = fused::Edge::kZero;
  fused::Tone tone = fused::Tone::kInvert;
  // Of a blur.
  int radius = 0;
  // Bytes of FusedParams that the kernel reads for each image.
  size_t param_bytes = 0;
  // Of the output for an input of that size. Null: it stays.
  std::function<FusedSize(FusedSize)> out_size;
  // For one image. Null: nothing to draw.
  std::function<void(FusedSize, Random*, FusedParams*)> draw;
  // Whether images of one size all get the same: nothing is random.
  bool fixed = false;

  FusedSize OutSize(FusedSize in) const {
    return out_size == nullptr ? in : out_size(in);
  }
};

// InvalidArgument names what is not understood.
absl::StatusOr<FusedOp> MakeFusedOp(const TransformSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_FUSED_OP_H_
