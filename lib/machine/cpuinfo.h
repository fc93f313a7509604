// What /proc/cpuinfo says of one processor.
#ifndef FEEDRATE_LIB_MACHINE_CPUINFO_H_
#define FEEDRATE_LIB_MACHINE_CPUINFO_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

struct CpuIdentity {
  // Model name, such as `Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` or
  // `Neoverse-V2`. Empty when nothing names it.
  std::string model;
  // `x86-64`, `aarch64`, or empty when the text does not show it.
  std::string architecture;
  // Highest level of the x86-64 psABI, 1 to 4. 0 on other architectures.
  int x86_64_level = 0;
  // The maker's own numbers, such as `GenuineIntel-6-207-2` (vendor, family,
  // model, stepping) or `0x41-0xd4f-0x0-1` (implementer, part, variant,
  // revision). Empty when they are not given.
  std::string signature;
  // Whether an x86 processor says that it is a virtual one.
  bool hypervisor = false;
};

// Reads the first processor of `cpuinfo`. Clock rates in it are not looked at.
CpuIdentity ParseCpuInfo(absl::string_view cpuinfo);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CPUINFO_H_
