#include "lib/model/cuda/gpu_use.h"

#include <dlfcn.h>

#include <chrono>

namespace feedrate {
namespace {

// The driver itself averages over 20 ms to a second.
constexpr std::chrono::milliseconds kInterval(50);

// As in nvml.h, whose package a build machine need not have.
struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};
using Init = int (*)();
using GetHandle = int (*)(unsigned int, void**);
using GetUtilization = int (*)(void*, Utilization*);

}  // namespace

GpuUse::GpuUse(int index) : thread_([this, index] { Sample(index); }) {}

void GpuUse::Sample(int index) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
  const auto handle = reinterpret_cast<GetHandle>(
      dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  const auto utilization = reinterpret_cast<GetUtilization>(
      dlsym(library, "nvmlDeviceGetUtilizationRates"));
  void* device = nullptr;
  if (init == nullptr || handle == nullptr || utilization == nullptr ||
      init() != 0 || handle(index, &device) != 0) {
    return;
  }
  while (!stop_) {
    Utilization use = {};
    if (utilization(device, &use) == 0) {
      sum_ += use.gpu / 100.0;
      ++samples_;
    }
    std::this_thread::sleep_for(kInterval);
  }
}

double GpuUse::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return samples_ == 0 ? -1 : sum_ / samples_;
}

}  // namespace feedrate
