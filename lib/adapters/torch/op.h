// ATen operations with their parameters.
//
// Each family of operations is one file with a table of TorchOpEntry. An entry
// is found by the `native_op` of configs/transforms/; the parameters decide the
// rest, never the name of the transform.
#pragma once

// Never ATen/ATen.h: with one header per operator a file compiles in half the
// time.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/ops/params.h"

namespace feedrate {

// Maps a CHW tensor of bytes, which must not be written to, to a new contiguous
// one. Operations for batches take NCHW and draw for each image, in order. Not
// thread-safe.
using TorchOp = std::function<at::Tensor(const at::Tensor& in, Random* random)>;

struct TorchOpEntry {
  absl::string_view native_op;
  // Reads the parameters. Errors stay in `params`.
  TorchOp (*make)(Params* params);
  // Same for batches, if ATen has operations for that. Null, or returning null
  // for these parameters: images are processed one by one.
  TorchOp (*make_batch)(Params* params) = nullptr;
};
using TorchOpTable = std::vector<TorchOpEntry>;

// The families. The comment at the top of each file lists its operations and
// parameters.
const TorchOpTable& TorchColorOps();     // color_ops.cc
const TorchOpTable& TorchFilterOps();    // filter_ops.cc
const TorchOpTable& TorchGeometryOps();  // geometry_ops.cc
const TorchOpTable& TorchWarpOps();      // warp_ops.cc

inline at::Tensor ToFloat(const at::Tensor& bytes) {
  return bytes.to(at::kFloat);
}

// Rounds to nearest, saturating. Works in place on `values`.
inline at::Tensor ToBytes(at::Tensor values) {
  return values.round_().clamp_(0, 255).to(at::kByte);
}

// A tensor that an operation needs besides its input. Made once, and moved to
// the device of the inputs.
class Constant {
 public:
  explicit Constant(at::Tensor value) : value_(std::move(value)) {}

  const at::Tensor& For(const at::Tensor& in) const {
    if (value_.device() != in.device()) value_ = value_.to(in.device());
    return value_;
  }

 private:
  mutable at::Tensor value_;
};

// Floats, or integers, on the device of `in`.
inline at::TensorOptions FloatsLike(const at::Tensor& in) {
  return in.options().dtype(at::kFloat);
}
inline at::TensorOptions IndexesLike(const at::Tensor& in) {
  return in.options().dtype(at::kLong);
}

// An image as a batch of one, and back. Batches are unchanged.
inline at::Tensor Batched(const at::Tensor& in) {
  return in.dim() == 4 ? in : in.unsqueeze(0);
}
inline at::Tensor UnbatchedLike(const at::Tensor& in, const at::Tensor& batch) {
  return in.dim() == 4 ? batch : batch.squeeze(0);
}

inline int64_t ImagesOf(const at::Tensor& in) {
  return in.dim() == 4 ? in.size(0) : 1;
}
inline int64_t ChannelsOf(const at::Tensor& in) { return in.size(-3); }
inline int64_t HeightOf(const at::Tensor& in) { return in.size(-2); }
inline int64_t WidthOf(const at::Tensor& in) { return in.size(-1); }

// Makes the operation for an entry of configs/transforms/ from its native_op,
// params and wrap. InvalidArgument names what is not understood.
absl::StatusOr<TorchOp> MakeTorchOp(const TransformSpec& spec);

// Same for batches; null if images are processed one by one. REQUIRES:
// MakeTorchOp understands the spec.
TorchOp MakeTorchBatchOp(const TransformSpec& spec);

// Convolutions of every channel by one kernel.

struct KernelSize {
  int64_t height = 1;
  int64_t width = 1;

  // Left, right, top, bottom: keeps the size of the image.
  std::array<int64_t, 4> Padding() const {
    return {width / 2, width / 2, height / 2, height / 2};
  }
};

// Reads `kernel_size=(HEIGHT,WIDTH)`, both odd.
KernelSize ReadKernelSize(Params* params);

// One row of weights whose sum is 1.
at::Tensor GaussianRow(int64_t size, double sigma);

// Convolves each channel of `batch` (NCHW, floats) with `kernel` (HW), with
// zeros beyond the border if `padding` is above 0.
at::Tensor Convolve(const at::Tensor& batch, const at::Tensor& kernel,
                    int64_t padding = 0);

// Same with one kernel per image: `kernels` is NHW.
at::Tensor ConvolveEach(const at::Tensor& batch, const at::Tensor& kernels,
                        int64_t padding = 0);

// Parameters that differ between the images of a batch.

// One number per image, N x 1 x 1 x 1, on the device of the batch `in`.
at::Tensor PerImage(const std::vector<double>& values, const at::Tensor& in);

// A random order of `size` elements for each image of `in`, as indexes into the
// elements of all images.
at::Tensor OrderOfEach(int64_t size, const at::Tensor& in);

}  // namespace feedrate
