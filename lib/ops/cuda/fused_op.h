// Entries of configs/transforms/ for the library `cuda`: which kernel to
// launch, and which parameters to draw for each image. Needs no GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/color_math.h"
#include "lib/ops/cuda/kernels/warp_math.h"
#include "lib/ops/params.h"

namespace feedrate {

struct FusedSize {
  int height = 0;
  int width = 0;
};

// Parameters of one image. Each kernel reads its own.
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
  // Radius of a blur.
  int radius = 0;
  // Bytes of FusedParams per image that the kernel reads.
  size_t param_bytes = 0;
  // Output size for an input size. Null: unchanged.
  std::function<FusedSize(FusedSize)> out_size;
  // Draws parameters for one image. Null: none to draw.
  std::function<void(FusedSize, Random*, FusedParams*)> draw;
  // True if nothing is random: images of one size all get the same parameters.
  bool fixed = false;

  FusedSize OutSize(FusedSize in) const {
    return out_size == nullptr ? in : out_size(in);
  }
};

// InvalidArgument names what is not understood.
absl::StatusOr<FusedOp> MakeFusedOp(const TransformSpec& spec);

// Packs what a call sends to the device: images, outputs and parameters. It is
// part of every timed call, so it computes nothing that is already known. Needs
// no GPU. Not thread-safe.
class CallPacker {
 public:
  struct Packed {
    int64_t bytes = 0;
    // Largest output height and width.
    FusedSize largest;
  };

  // `op` must outlive it.
  explicit CallPacker(const FusedOp* op) : op_(*op) {}

  void AddInput(const fused::ByteImage& image);
  // Outputs of a call are `bytes` apart, starting at `first`.
  void SetOutputs(uint8_t* first, int64_t bytes);

  int64_t size() const { return static_cast<int64_t>(inputs_.size()); }
  FusedSize in_size(int64_t item) const { return in_sizes_[item]; }
  FusedSize out_size(int64_t item) const { return out_sizes_[item]; }
  // Size of a block that has room for any call of this many images.
  int64_t BlockBytes(int64_t count) const;

  // Packs items first … first+count-1, modulo `num_items`: all inputs, all
  // outputs, all parameters. REQUIRES: 0 <= first < num_items <= size(), and
  // `block` starts at a multiple of 8.
  Packed Pack(int64_t first, int64_t count, int64_t num_items, Random* random,
              uint8_t* block) const;

 private:
  const FusedOp& op_;
  std::vector<fused::ByteImage> inputs_;
  std::vector<FusedSize> in_sizes_;
  std::vector<FusedSize> out_sizes_;
  uint8_t* outputs_ = nullptr;
  int64_t output_bytes_ = 0;
};

}  // namespace feedrate
