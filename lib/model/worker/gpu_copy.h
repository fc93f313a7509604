// Only with --config=cuda.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace feedrate {

// The training's own copy of a batch in the memory of a loader, which is on the
// GPU or pinned. The loader gets its memory back when the next batch is asked
// for, which is before the GPU has run the step. A copy from the GPU takes a
// few parts in a thousand of a step.
class GpuCopy {
 public:
  // Waits until the GPU has copied the last batch.
  void Wait() { copied_.synchronize(); }
  at::Tensor Of(const float* batch, at::IntArrayRef shape, bool is_on_gpu) {
    if (!own_.defined()) {
      own_ = at::empty(shape, at::TensorOptions(at::kCUDA).dtype(at::kFloat));
    }
    own_.copy_(at::from_blob(
                   const_cast<float*>(batch), shape,
                   is_on_gpu ? own_.options() : at::TensorOptions(at::kFloat)),
               /*non_blocking=*/true);
    copied_.record();
    return own_;
  }

 private:
  at::Tensor own_;
  // Waiting leaves the processor to the threads that decode.
  at::cuda::CUDAEvent copied_{cudaEventBlockingSync | cudaEventDisableTiming};
};

}  // namespace feedrate
