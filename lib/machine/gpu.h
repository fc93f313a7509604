// The NVIDIA GPUs of a machine.
#ifndef FEEDRATE_LIB_MACHINE_GPU_H_
#define FEEDRATE_LIB_MACHINE_GPU_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace feedrate {

struct GpuInfo {
  // Such as `NVIDIA H200`.
  std::string name;
  int64_t memory_bytes = 0;
  // Compute capability, such as `9.0`. Empty: not readable.
  std::string compute_capability;
  // Absent: not readable.
  std::optional<double> power_limit_w;
};

struct GpuSystem {
  // All of the machine's, in NVML's order, which is that of the PCI bus;
  // CUDA_VISIBLE_DEVICES is not looked at.
  std::vector<GpuInfo> gpus;
  // Version of the kernel driver, such as `580.65.06`. Empty: none.
  std::string driver;
  // Highest CUDA version of the driver, such as `13.0`. Empty: none.
  std::string cuda;
  // Why GPUs that should be there cannot be described. Empty: all is well,
  // and so it is on a machine without NVIDIA's library.
  std::string problem;
};

// Where NVIDIA's management library is looked for when no place is given: what
// the loader finds, then where containers and WSL mount the driver.
std::vector<std::string> NvmlLibraries();

// Asks the first of `libraries` that can be loaded. Takes some milliseconds
// where there is a GPU.
GpuSystem ReadGpus(const std::vector<std::string>& libraries);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_GPU_H_
