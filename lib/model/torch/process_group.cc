#include "lib/model/torch/process_group.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
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

// HOST and PORT of tcp://HOST:PORT; no host when `store` is a file.
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

// This machine's own address on the way to `host`: a packet that is never sent
// makes the kernel choose it. A host name may have others, or none.
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
  const auto timeout =
      std::chrono::milliseconds(std::chrono::seconds(options.timeout_s));
  const auto store = MakeStore(options, timeout);
  store->setTimeout(timeout);
#if defined(USE_C10D_GLOO)
  if (options.device == "cpu") {
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(
        AddressTowards(PlaceOf(options.store))));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        store, options.rank, options.world_size, gloo);
  }
#endif
#if defined(USE_C10D_NCCL)
  if (options.device == "cuda") {
    auto nccl = c10d::ProcessGroupNCCL::Options::create();
    nccl->timeout = timeout;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(
        store, options.rank, options.world_size, nccl);
  }
#endif
  throw std::runtime_error(
      options.device == "cuda"
          ? "several GPUs need NCCL, which this program was built without: "
            "build it with --config=cuda where nccl.h is (make envs "
            "GROUPS=torch_stack)"
          : "this program was built without gloo; it needs libgloo-dev");
}

}  // namespace feedrate
