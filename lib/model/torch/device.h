// The device that trains: what differs between a CPU and a GPU.
#ifndef FEEDRATE_LIB_MODEL_TORCH_DEVICE_H_
#define FEEDRATE_LIB_MODEL_TORCH_DEVICE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lib/model/torch/phase_clock.h"

namespace feedrate {

// Work that was recorded once and runs again without its calls.
class StepGraph {
 public:
  virtual ~StepGraph() = default;
  virtual void Replay() = 0;
};

struct MemoryPeaks {
  // Most memory in tensors on CUDA, resident memory of the process on the CPU.
  int64_t allocated_bytes = 0;
  // Most memory that CUDA's allocator held. 0 on the CPU.
  int64_t reserved_bytes = 0;
};

class TrainDevice {
 public:
  virtual ~TrainDevice() = default;

  virtual at::Device device() const = 0;
  // Waits for all work.
  virtual void Synchronize() = 0;
  virtual void ResetPeaks() = 0;
  virtual MemoryPeaks Peaks() = 0;
  virtual std::unique_ptr<PhaseClock> MakeClock() = 0;
  // Runs `work` a few times to warm it up, then records it. c10::Error where
  // there are no graphs.
  virtual std::unique_ptr<StepGraph> Record(
      const std::function<void()>& work) = 0;
  // Products of float32 in TF32, or not.
  virtual void AllowTf32(bool allow) = 0;
};

std::unique_ptr<TrainDevice> MakeCpuDevice();

// `cpu`, or `cuda` with the number of the GPU. std::runtime_error when it is
// not there, or this program was built without --config=cuda.
std::unique_ptr<TrainDevice> MakeTrainDevice(const std::string& name,
                                             int index);

// Seconds of `count` calls of `work`, with nothing else under way on the
// device.
double TimeCalls(TrainDevice* device, int count,
                 const std::function<void()>& work);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_DEVICE_H_
