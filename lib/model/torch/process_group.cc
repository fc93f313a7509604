#include "lib/model/torch/process_group.h"

#include <chrono>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#if defined(USE_C10D_GLOO)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#if defined(USE_C10D_NCCL)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace feedrate {

c10::intrusive_ptr<c10d::Backend> JoinGroup(const GroupOptions& options) {
  const auto timeout =
      std::chrono::milliseconds(std::chrono::seconds(options.timeout_s));
  const auto store = c10::make_intrusive<c10d::FileStore>(options.store_file,
                                                          options.world_size);
  store->setTimeout(timeout);
#if defined(USE_C10D_GLOO)
  if (options.device == "cpu") {
    auto gloo = c10d::ProcessGroupGloo::Options::create(timeout);
    gloo->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
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
