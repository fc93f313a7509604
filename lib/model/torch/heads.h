// Operations on the heads of attention with gradients written by hand: what
// autograd would derive passes over the same bytes twice as often.
#ifndef FEEDRATE_LIB_MODEL_TORCH_HEADS_H_
#define FEEDRATE_LIB_MODEL_TORCH_HEADS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace feedrate {

// Q, K and V of one block, batch x heads x tokens x head width.
struct HeadTensors {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

// Views of `qkv`, which is batch x tokens x 3 width and contiguous. None of
// them may be written to.
HeadTensors SplitHeads(const at::Tensor& qkv, int64_t heads);

// Turns the first half of the last dimension of `x` against its second half:
// x cos + (-second, first) sin. `cos` and `sin` are tokens x head width, of the
// type of `x`, with two equal halves, and get no gradient.
at::Tensor Turn(const at::Tensor& x, const at::Tensor& cos,
                const at::Tensor& sin);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_HEADS_H_
