// The training device: what differs between a CPU and a GPU, its clock, and its
// measured rates.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace feedrate {

// Phases of a training step.

enum Phase {
  kDataWait,
  kCopy,
  kMixing,
  kForward,
  kLoss,
  kBackward,
  kGradSync,
  kOptimizer,
  kOther,
  // What belongs to no other phase.
  kUnattributed,
  kPhases,
};

// Names as in the `budget` of a row, without `_s`.
const char* PhaseName(int phase);

struct StepTimes {
  std::array<double, kPhases> phase_s = {};
  double step_s = 0;
};

// Splits a step into phases. Time from the previous mark (or the start of the
// step) to a mark belongs to the phase of that mark. Not thread-safe.
class PhaseClock {
 public:
  virtual ~PhaseClock() = default;

  virtual void StartStep() = 0;
  virtual void Mark(Phase phase) = 0;
  virtual void EndStep() = 0;
  // Returns the steps since the last call. May wait for the device.
  virtual std::vector<StepTimes> Take() = 0;
};

// Uses the monotonic clock: for devices that complete an operation before its
// call returns.
std::unique_ptr<PhaseClock> MakeWallPhaseClock();

// Monotonic time in seconds.
double MonotonicSeconds();

// Recorded work that can be replayed without its calls.
class StepGraph {
 public:
  virtual ~StepGraph() = default;
  virtual void Replay() = 0;
  // Phases of the last replay. Waits for it.
  virtual StepTimes Phases() = 0;
};

struct MemoryPeaks {
  // Peak memory of tensors on CUDA; peak resident memory of the process on the
  // CPU.
  int64_t allocated_bytes = 0;
  // Peak memory held by CUDA's allocator. 0 on the CPU.
  int64_t reserved_bytes = 0;
  // Since the start: tensors that CUDA's allocator made room for, and how often
  // it asked the driver for more. 0 on the CPU.
  int64_t allocations = 0;
  int64_t device_allocations = 0;
};

// Which GPU a device is.
struct GpuPlace {
  // Such as `NVIDIA H200`. Empty on the CPU.
  std::string name;
  // By which NVIDIA's management library finds it, whatever
  // CUDA_VISIBLE_DEVICES hides.
  std::string pci_bus_id;
  int64_t memory_bytes = 0;
};

class TrainDevice {
 public:
  virtual ~TrainDevice() = default;

  virtual at::Device device() const = 0;
  virtual GpuPlace gpu() const { return {}; }
  // Waits for all work.
  virtual void Synchronize() = 0;
  virtual void ResetPeaks() = 0;
  virtual MemoryPeaks Peaks() = 0;
  virtual std::unique_ptr<PhaseClock> MakeClock() = 0;
  // Runs `work` a few times to warm up, then records it, with the marks that it
  // makes on the clock it gets. c10::Error if the device has no graphs.
  virtual std::unique_ptr<StepGraph> Record(
      const std::function<void(PhaseClock*)>& work) = 0;
  // Whether float32 products may use TF32.
  virtual void AllowTf32(bool allow) = 0;
};

std::unique_ptr<TrainDevice> MakeCpuDevice();

// `cpu`, or `cuda` with the number of the GPU. std::runtime_error if it does
// not exist, or if this program was built without --config=cuda.
std::unique_ptr<TrainDevice> MakeTrainDevice(const std::string& name,
                                             int index);

// GPU number `index`. Only in programs built with --config=cuda. Times come
// from CUDA events on its stream; graphs are CUDA graphs. c10::Error if there
// is no such GPU.
std::unique_ptr<TrainDevice> MakeCudaDevice(int index);

// Seconds for `count` calls of `work`, with nothing else running on the device.
double TimeCalls(TrainDevice* device, int count,
                 const std::function<void()>& work);

struct DeviceRates {
  // Operations per second of a large product in the data type of the training.
  double matmul_flops = 0;
  // Bytes per second of a large copy, read plus written.
  double copy_bytes = 0;
};

// Maximum rates of the device in the precision of a training, such as `bf16`:
// the best of a few tries, some tenths of a second in total. Products in bf16
// and fp16 on a CPU are at least as fast as in fp32.
DeviceRates MeasureRates(TrainDevice* device, const std::string& precision);

// Utilization of a GPU according to NVIDIA's management library, sampled from
// construction to Stop, except while it is paused. The library is loaded at run
// time; without it the result is unknown.
class GpuUse {
 public:
  explicit GpuUse(const std::string& pci_bus_id);
  ~GpuUse() { Stop(); }
  GpuUse(const GpuUse&) = delete;
  GpuUse& operator=(const GpuUse&) = delete;

  void Pause(bool paused) { paused_ = paused; }
  // Mean share of time during which a kernel ran, 0 to 1; -1: unknown.
  double Stop();

 private:
  void Sample(const std::string& pci_bus_id);

  std::atomic<bool> stop_{false};
  std::atomic<bool> paused_{false};
  double sum_ = 0;
  int samples_ = 0;
  std::thread thread_;
};

}  // namespace feedrate
