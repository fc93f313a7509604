// How fast a GPU runs at the moment, and what holds it back.
#ifndef FEEDRATE_LIB_MACHINE_GPU_CLOCK_H_
#define FEEDRATE_LIB_MACHINE_GPU_CLOCK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/nvml.h"

namespace feedrate {

// One GPU's clock. A reading takes some microseconds, none of them on the GPU.
class GpuClock {
 public:
  struct Reading {
    // Of the processors.
    int64_t mhz = 0;
    // Why it is not more, see ThrottleWords.
    uint64_t throttle_reasons = 0;
  };

  // Of the GPU at `pci_bus_id`, as CUDA gives it; empty: the first one. Asks
  // the first of `libraries` (NvmlLibraries of gpu.h) that can be loaded.
  static absl::StatusOr<std::unique_ptr<GpuClock>> Open(
      const std::vector<std::string>& libraries, const std::string& pci_bus_id);

  // What it may run at; 0 where the driver does not tell.
  int64_t max_mhz() const { return max_mhz_; }
  // Absent where it cannot be read.
  std::optional<Reading> Read() const;

 private:
  GpuClock(std::unique_ptr<Nvml> nvml, NvmlDevice device);

  const std::unique_ptr<Nvml> nvml_;
  const NvmlDevice device_;
  int64_t max_mhz_ = 0;
};

// Words for NVML's bits, such as `sw_power_cap`, lowest bit first. A GPU that
// has nothing to do, or is as fast as somebody asked for, is not throttled:
// those bits have no words.
std::vector<std::string> ThrottleWords(uint64_t reasons);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_GPU_CLOCK_H_
