// One ATen operation with its parameters.
//
// A family of operations is one file with a table of TorchOpEntry. An entry is
// found by the `native_op` of configs/transforms/; which parameters are there
// decides the rest, never the transform's name.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_OP_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_OP_H_

// Never ATen/ATen.h: with one header an operator a file compiles in half the
// time.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

// From a CHW tensor of bytes, which must not be written to, to another one,
// contiguous and in memory of its own. One for batches takes NCHW and draws for
// each image, in their order. Not thread-safe.
using TorchOp = std::function<at::Tensor(const at::Tensor& in, Random* random)>;

struct TorchOpEntry {
  absl::string_view native_op;
  // Reads the parameters, whose mistakes stay in `params`.
  TorchOp (*make)(Params* params);
  // The same for batches, where ATen has operations for it. Null, or null for
  // these parameters: images go one by one.
  TorchOp (*make_batch)(Params* params) = nullptr;
};
using TorchOpTable = std::vector<TorchOpEntry>;

inline at::Tensor ToFloat(const at::Tensor& bytes) {
  return bytes.to(at::kFloat);
}

// Rounded to the nearest, saturating. Works in place on `values`.
inline at::Tensor ToBytes(at::Tensor values) {
  return values.round_().clamp_(0, 255).to(at::kByte);
}

// What an operation needs beside its input, made once: a tensor that goes where
// the inputs are.
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

// Floats, or whole numbers, where `in` is.
inline at::TensorOptions FloatsLike(const at::Tensor& in) {
  return in.options().dtype(at::kFloat);
}
inline at::TensorOptions IndexesLike(const at::Tensor& in) {
  return in.options().dtype(at::kLong);
}

// An image as a batch of one, and back; a batch stays as it is.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_OP_H_
