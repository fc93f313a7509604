#include "lib/model/torch/distributed.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#if defined(USE_C10D_GLOO)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#if defined(USE_C10D_NCCL)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace feedrate {

namespace {

constexpr char kTcp[] = "tcp://";
constexpr char kLoopback[] = "127.0.0.1";

struct Place {
  std::string host;
  std::string port;
};

// HOST and PORT of tcp://HOST:PORT; no host if `store` is a file.
Place PlaceOf(const std::string& store) {
  if (store.rfind(kTcp, 0) != 0) return {};
  const size_t colon = store.rfind(':');
  return {store.substr(sizeof(kTcp) - 1, colon - (sizeof(kTcp) - 1)),
          store.substr(colon + 1)};
}

c10::intrusive_ptr<c10d::Store> MakeStore(const GroupOptions& options,
                                          std::chrono::milliseconds timeout) {
  const Place place = PlaceOf(options.store);
  if (place.host.empty()) {
    return c10::make_intrusive<c10d::FileStore>(options.store,
                                                options.world_size);
  }
  c10d::TCPStoreOptions tcp;
  tcp.port = static_cast<std::uint16_t>(std::stoi(place.port));
  tcp.isServer = options.rank == 0;
  tcp.numWorkers = options.world_size;
  tcp.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(place.host, tcp);
}

// This machine's address on the route to `host`. Connecting a UDP socket makes
// the kernel choose it without sending a packet. The host name may resolve to
// others, or to none.
std::string AddressTowards(const Place& place) {
  if (place.host.empty()) return kLoopback;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) !=
      0) {
    return kLoopback;
  }
  std::string address = kLoopback;
  const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own = {};
  socklen_t bytes = sizeof(own);
  char text[NI_MAXHOST];
  if (connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), bytes, text, sizeof(text),
                  nullptr, 0, NI_NUMERICHOST) == 0) {
    address = text;
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return address;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> JoinGroup(const GroupOptions& options) {
  if (options.collectives != "gloo" && options.collectives != "nccl") {
    throw std::runtime_error("collectives \"" + options.collectives +
                             "\" are unknown; use gloo or nccl");
  }
  const auto timeout =
      std::chrono::milliseconds(std::chrono::seconds(options.timeout_s));
  const auto store = MakeStore(options, timeout);
  store->setTimeout(timeout);
#if defined(USE_C10D_GLOO)
  if (options.collectives == "gloo") {
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(
        AddressTowards(PlaceOf(options.store))));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        store, options.rank, options.world_size, gloo);
  }
#endif
#if defined(USE_C10D_NCCL)
  if (options.collectives == "nccl") {
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    nccl->timeout = timeout;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(
        store, options.rank, options.world_size, nccl);
  }
#endif
  throw std::runtime_error(
      options.collectives == "nccl"
          ? "several GPUs need NCCL, which this program was built without: "
            "in a checkout, build it with --config=cuda where nccl.h is (make "
            "envs GROUPS=torch_stack)"
          : "this program was built without gloo; it needs libgloo-dev");
}

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
    if (++bucket.ready >= bucket.parameters) Send(&bucket);
  }

  void Send(Bucket* bucket) {
    std::vector<at::Tensor> tensors = {bucket->flat};
    bucket->work = group->allreduce(tensors);
  }

  c10::intrusive_ptr<c10d::Backend> group;
  std::vector<Bucket> buckets;
  std::mutex mutex;
  bool sending = false;
  // Buckets are the parts that an engine passes to GradientSync::Send.
  bool of_engine = false;
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

// Indexes of the parameters in each bucket.
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

GradientSync::GradientSync(c10::intrusive_ptr<c10d::Backend> group)
    : state_(std::make_shared<State>()) {
  state_->group = std::move(group);
  state_->of_engine = true;
}

GradientSync::~GradientSync() = default;

void GradientSync::Send(const at::Tensor& part) {
  if (!state_->sending) return;
  State::Bucket bucket;
  bucket.flat = part;
  state_->Send(&bucket);
  state_->buckets.push_back(bucket);
}

void GradientSync::Prepare(bool send) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->sending = send;
  if (state_->of_engine) state_->buckets.clear();
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

}  // namespace feedrate
