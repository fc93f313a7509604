#include "lib/model/torch/device.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <fstream>
#include <stdexcept>
#include <string>

#if defined(FEEDRATE_CUDA)
#include "lib/model/cuda/cuda_device.h"
#endif

namespace feedrate {
namespace {

// A line such as `VmHWM:   123 kB` of the kernel's account of this process.
int64_t StatusBytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    if (word != key) continue;
    int64_t kilobytes = 0;
    in >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

class CpuDevice : public TrainDevice {
 public:
  at::Device device() const override { return at::kCPU; }
  void Synchronize() override {}
  // 5: the peak becomes what is resident now.
  void ResetPeaks() override { std::ofstream("/proc/self/clear_refs") << "5"; }
  MemoryPeaks Peaks() override { return {StatusBytes("VmHWM:"), 0}; }
  std::unique_ptr<PhaseClock> MakeClock() override {
    return MakeWallPhaseClock();
  }
  std::unique_ptr<StepGraph> Record(const std::function<void()>&) override {
    TORCH_CHECK(false, "graphs are CUDA's; leave --graphs out on the CPU");
  }
  void AllowTf32(bool) override {}
};

}  // namespace

std::unique_ptr<TrainDevice> MakeCpuDevice() {
  return std::make_unique<CpuDevice>();
}

std::unique_ptr<TrainDevice> MakeTrainDevice(const std::string& name,
                                             int index) {
  if (name == "cpu") return MakeCpuDevice();
#if defined(FEEDRATE_CUDA)
  if (name == "cuda") return MakeCudaDevice(index);
#endif
  throw std::runtime_error("device \"" + name +
                           "\" is not in this program; build it with "
                           "--config=cuda for cuda");
}

double TimeCalls(TrainDevice* device, int count,
                 const std::function<void()>& work) {
  device->Synchronize();
  const double start = MonotonicSeconds();
  for (int i = 0; i < count; ++i) work();
  device->Synchronize();
  return MonotonicSeconds() - start;
}

}  // namespace feedrate
