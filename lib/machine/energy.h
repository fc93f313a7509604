// Energy that processors and a GPU use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/machine/gpu.h"
#include "lib/machine/root.h"

namespace feedrate {

// Joules, absent where the machine does not tell. Either since some start, or
// between two readings.
struct EnergyUse {
  // All processor packages of the machine.
  std::optional<double> cpu_j;
  std::optional<double> gpu_j;
  // When it was read, by the monotonic clock.
  double at_s = 0;
};

// What was used between two readings. Less than a second apart they do not tell
// what a GPU used: some count in steps of 0.1 s.
EnergyUse EnergyBetween(const EnergyUse& before, const EnergyUse& after);

// Reads the counters of RAPL (/sys/class/powercap), which most kernels show to
// root only, and of a GPU. Not thread-safe.
class EnergyMeter {
 public:
  // `gpu` may be null.
  EnergyMeter(const Root& root, std::unique_ptr<GpuEnergy> gpu)
      : root_(root), gpu_(std::move(gpu)) {}

  // Since construction or earlier. Call at least every few minutes: the
  // counters of RAPL start again at 0 after some 260 kJ. Takes microseconds.
  EnergyUse Read();

 private:
  struct Package {
    int64_t last_uj = 0;
    double sum_j = 0;
    bool is_known = true;
  };

  const Root root_;
  const std::unique_ptr<GpuEnergy> gpu_;
  // By folder.
  std::map<std::string, Package> packages_;
};

}  // namespace feedrate
