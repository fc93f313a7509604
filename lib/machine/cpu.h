// The processors of a machine.
#ifndef FEEDRATE_LIB_MACHINE_CPU_H_
#define FEEDRATE_LIB_MACHINE_CPU_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/machine/root.h"

namespace feedrate {

// What is not known is empty or 0, but sockets, threads_per_core and
// numa_nodes, which are 1.
struct CpuInfo {
  // As the kernel gives it, or the name of the core on ARM.
  std::string model;
  // The maker's numbers for it, see CpuIdentity.
  std::string signature;
  // `x86-64`, `aarch64`, or what `uname -m` says.
  std::string architecture;
  // Level of the x86-64 psABI, 1 to 4. 0 on other architectures.
  int x86_64_level = 0;
  // Processors this process may run on (its affinity), never more than online.
  int usable_cores = 0;
  // Processors online in the machine.
  int online_cores = 0;
  int sockets = 1;
  int threads_per_core = 1;
  int numa_nodes = 1;
  // Largest data or unified cache of each level, level 1 first.
  std::vector<int64_t> cache_bytes;
  // Whether the processor says that it is a virtual one. x86 only.
  bool virtual_cpu = false;
};

// A machine with several kinds of cores is described by its first one.
CpuInfo ReadCpu(const Root& root);

// Processors this process may run on, in rising order.
std::vector<int> ReadAffinity(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CPU_H_
