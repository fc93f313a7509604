// The processors of a machine, and whether they are virtual.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

// Where the kernel describes processors.
inline constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// What /proc/cpuinfo says of one processor.
struct CpuIdentity {
  // Model name, such as `Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` or
  // `Neoverse-V2`. Empty when nothing names it.
  std::string model;
  // `x86-64`, `aarch64`, or empty if unknown.
  std::string architecture;
  // Highest level of the x86-64 psABI, 1 to 4. 0 on other architectures.
  int x86_64_level = 0;
  // The vendor's numbers, such as `GenuineIntel-6-207-2` (vendor, family,
  // model, stepping) or `0x41-0xd4f-0x0-1` (implementer, part, variant,
  // revision). Empty if they are missing.
  std::string signature;
  // Whether the processor reports that it is virtual. x86 only.
  bool hypervisor = false;
};

// Parses the first processor in the contents of /proc/cpuinfo. Ignores clock
// rates.
CpuIdentity ParseCpuInfo(absl::string_view cpuinfo);

// Unknown values are empty or 0, except sockets, threads_per_core and
// numa_nodes, which are 1.
struct CpuInfo {
  // The kernel's model name, or the name of the core on ARM.
  std::string model;
  // The vendor's numbers for it, see CpuIdentity.
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
  // Whether the processor reports that it is virtual. x86 only.
  bool virtual_cpu = false;
};

// A machine with several kinds of cores is described by its first one.
CpuInfo ReadCpu(const Root& root);

// Returns the processors this process may run on, in increasing order.
std::vector<int> ReadAffinity(const Root& root);

// Returns the name of the hypervisor: `kvm`, `xen`, `vmware`, `hyperv`,
// `virtualbox`, `apple`, or `unknown` if only its presence is visible. Empty if
// there is none. Cloud machines on KVM are `kvm`, whoever runs it.
std::string ReadHypervisor(const Root& root);

}  // namespace feedrate
