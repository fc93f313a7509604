// What the GPU of this machine does while the runs of a duel last.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/machine/gpu.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Not thread-safe.
class RunGpu {
 public:
  // Opens the first GPU that CUDA_VISIBLE_DEVICES leaves, with the first of
  // `libraries` (NvmlLibraries) that can be loaded. Null if there is none.
  static std::unique_ptr<RunGpu> Open(
      const std::vector<std::string>& libraries);

  // A run begins.
  void Start();
  // Call it now and then while the run lasts. Reads the clocks, at most once
  // in 20 ms.
  void Look();
  // The run has ended: its rows get what was read. Those with which another
  // process has shared the GPU become `contended`.
  void Finish(std::vector<Row>* rows);

 private:
  explicit RunGpu(std::unique_ptr<GpuClock> clock) : clock_(std::move(clock)) {}

  const std::unique_ptr<GpuClock> clock_;
  int64_t started_us_ = 0;
  std::chrono::steady_clock::time_point looked_;
  std::vector<GpuClock::Reading> readings_;
  // Whether a command of the duel has used the GPU. Others matter only then.
  bool is_used_ = false;
  // How often it is still looked for. It takes a millisecond.
  int searches_ = 100;
};

}  // namespace feedrate
