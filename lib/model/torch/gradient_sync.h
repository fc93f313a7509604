// Gradients of several processes become their mean, while the backward pass is
// still under way.
#ifndef FEEDRATE_LIB_MODEL_TORCH_GRADIENT_SYNC_H_
#define FEEDRATE_LIB_MODEL_TORCH_GRADIENT_SYNC_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "lib/model/torch/model.h"

namespace feedrate {

// Parameters are put into buckets in the order in which their gradients come,
// last layers first. A gradient is a view of its bucket; when the last of a
// bucket is there, the bucket is sent. Not thread-safe but for what autograd
// does.
class GradientSync {
 public:
  // Gives each parameter a gradient of zeros. Smaller buckets start earlier,
  // larger ones cost fewer messages.
  GradientSync(c10::intrusive_ptr<c10d::Backend> group,
               const std::vector<Parameter>& parameters, int64_t bucket_bytes);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // Before a backward pass: whether it is the last before the optimiser steps,
  // so that what it leaves is to be sent.
  void Prepare(bool send);
  // After it: waits for all buckets and takes the mean. c10::Error when a
  // process is gone. No effect when nothing was to be sent.
  void Wait();

  // The first process's tensors to all.
  void Broadcast(const std::vector<at::Tensor>& tensors);
  // Mean over the processes of a tensor.
  void Average(const at::Tensor& tensor);

  int64_t buckets() const;
  // Buckets that were sent before the backward pass had ended, since the start.
  int64_t sent_early() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_GRADIENT_SYNC_H_
