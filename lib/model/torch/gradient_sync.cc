#include "lib/model/torch/gradient_sync.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <mutex>
#include <utility>

namespace feedrate {

struct GradientSync::State {
  struct Bucket {
    at::Tensor flat;
    int64_t parameters = 0;
    int64_t ready = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };

  // Called by autograd's threads.
  void GradientReady(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!sending) return;
    Bucket& bucket = buckets[index];
    if (++bucket.ready < bucket.parameters) return;
    Send(&bucket);
    if (++sent < buckets.size()) ++sent_early;
  }

  void Send(Bucket* bucket) {
    std::vector<at::Tensor> tensors = {bucket->flat};
    bucket->work = group->allreduce(tensors);
  }

  c10::intrusive_ptr<c10d::Backend> group;
  std::vector<Bucket> buckets;
  std::mutex mutex;
  bool sending = false;
  size_t sent = 0;
  int64_t sent_early = 0;
};

namespace {

template <typename State>
class ReadyHook : public torch::autograd::PostAccumulateGradHook {
 public:
  ReadyHook(std::shared_ptr<State> state, size_t bucket)
      : state_(std::move(state)), bucket_(bucket) {}

  void operator()(const torch::autograd::Variable&) override {
    state_->GradientReady(bucket_);
  }

 private:
  const std::shared_ptr<State> state_;
  const size_t bucket_;
};

// Which parameters, by number, are in which bucket.
std::vector<std::vector<size_t>> Assign(
    const std::vector<Parameter>& parameters, int64_t bucket_bytes) {
  std::vector<std::vector<size_t>> buckets;
  int64_t bytes = bucket_bytes;
  for (size_t i = parameters.size(); i-- > 0;) {
    if (bytes >= bucket_bytes) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(i);
    bytes += parameters[i].value.nbytes();
  }
  return buckets;
}

}  // namespace

GradientSync::GradientSync(c10::intrusive_ptr<c10d::Backend> group,
                           const std::vector<Parameter>& parameters,
                           int64_t bucket_bytes)
    : state_(std::make_shared<State>()) {
  at::AutoGradMode no_grad(false);
  state_->group = std::move(group);
  for (const std::vector<size_t>& members : Assign(parameters, bucket_bytes)) {
    int64_t values = 0;
    for (const size_t i : members) values += parameters[i].value.numel();
    State::Bucket bucket;
    bucket.flat =
        at::zeros({values}, parameters[0].value.options().requires_grad(false));
    bucket.parameters = members.size();
    int64_t first = 0;
    for (const size_t i : members) {
      const at::Tensor& value = parameters[i].value;
      value.mutable_grad() =
          bucket.flat.narrow(0, first, value.numel()).view(value.sizes());
      first += value.numel();
      torch::autograd::impl::set_post_acc_grad_hooks(
          value,
          std::make_unique<ReadyHook<State>>(state_, state_->buckets.size()));
    }
    state_->buckets.push_back(bucket);
  }
}

GradientSync::~GradientSync() = default;

void GradientSync::Prepare(bool send) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->sending = send;
  state_->sent = 0;
  for (State::Bucket& bucket : state_->buckets) {
    bucket.ready = 0;
    bucket.work.reset();
  }
}

void GradientSync::Wait() {
  if (!state_->sending) return;
  at::AutoGradMode no_grad(false);
  for (State::Bucket& bucket : state_->buckets) {
    TORCH_CHECK(bucket.work, "a parameter got no gradient");
    bucket.work->wait();
    bucket.flat.div_(state_->group->getSize());
  }
}

void GradientSync::Broadcast(const std::vector<at::Tensor>& tensors) {
  at::AutoGradMode no_grad(false);
  for (const at::Tensor& tensor : tensors) {
    std::vector<at::Tensor> one = {tensor.detach()};
    state_->group->broadcast(one)->wait();
  }
}

void GradientSync::Average(const at::Tensor& tensor) {
  std::vector<at::Tensor> one = {tensor};
  state_->group->allreduce(one)->wait();
  one[0].div_(state_->group->getSize());
}

int64_t GradientSync::buckets() const { return state_->buckets.size(); }
int64_t GradientSync::sent_early() const { return state_->sent_early; }

}  // namespace feedrate
