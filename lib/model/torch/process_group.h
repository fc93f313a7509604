// The processes that train together.
#ifndef FEEDRATE_LIB_MODEL_TORCH_PROCESS_GROUP_H_
#define FEEDRATE_LIB_MODEL_TORCH_PROCESS_GROUP_H_

#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace feedrate {

struct GroupOptions {
  // Where all meet: a file that all processes see and none has used before, or
  // tcp://HOST:PORT, where rank 0 listens.
  std::string store;
  int rank = 0;
  int world_size = 1;
  // `cpu`: gloo, over the loopback or the interface that leads to HOST;
  // `cuda`: NCCL.
  std::string device = "cpu";
  // How long a process waits for the others.
  int timeout_s = 60;
};

// Waits until all are there. std::runtime_error when this program was built
// without what the device needs; c10::Error when others do not come.
c10::intrusive_ptr<c10d::Backend> JoinGroup(const GroupOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_PROCESS_GROUP_H_
