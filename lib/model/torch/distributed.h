// Training with several processes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "lib/model/torch/model.h"

namespace feedrate {

struct GroupOptions {
  // Where the processes meet: a file that all of them see and that none has
  // used before, or tcp://HOST:PORT, where rank 0 listens.
  std::string store;
  int rank = 0;
  int world_size = 1;
  // `gloo`, over the loopback interface or the one that leads to HOST, or
  // `nccl`. Gloo also averages what is on a GPU, through the host's memory:
  // slower, but it needs no GPU of its own for each process.
  std::string collectives = "gloo";
  // How long a process waits for the others.
  int timeout_s = 60;
};

// Waits until all processes have joined. std::runtime_error if this program was
// built without them; c10::Error if the others do not join.
c10::intrusive_ptr<c10d::Backend> JoinGroup(const GroupOptions& options);

// Averages gradients over processes while the backward pass is still running.
// Parameters are assigned to buckets in the order in which their gradients
// become ready, last layers first. A gradient is a view of its bucket; a bucket
// is sent when its last gradient is ready. Not thread-safe, except for calls by
// autograd.
class GradientSync {
 public:
  // Gives each parameter a gradient of zeros. Smaller buckets start earlier,
  // larger ones need fewer messages.
  GradientSync(c10::intrusive_ptr<c10d::Backend> group,
               const std::vector<Parameter>& parameters, int64_t bucket_bytes);
  // For gradients that an engine owns and passes to Send.
  explicit GradientSync(c10::intrusive_ptr<c10d::Backend> group);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // Call before a backward pass. `send`: this is the last pass before the
  // optimizer step, so the gradients are sent.
  void Prepare(bool send);
  // Sends gradients that this backward pass does not change any more. REQUIRES:
  // made for an engine.
  void Send(const at::Tensor& part);
  // Call after the backward pass: waits for all buckets and averages.
  // c10::Error if a process is gone. No effect if nothing was to be sent.
  void Wait();

  // Sends the tensors of the first process to all others.
  void Broadcast(const std::vector<at::Tensor>& tensors);
  // Averages a tensor over the processes.
  void Average(const at::Tensor& tensor);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace feedrate
