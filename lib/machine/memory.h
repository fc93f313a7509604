// Main memory and swap of a machine.
#ifndef FEEDRATE_LIB_MACHINE_MEMORY_H_
#define FEEDRATE_LIB_MACHINE_MEMORY_H_

#include <cstdint>

#include "lib/machine/root.h"

namespace feedrate {

// What /proc/meminfo says; what it does not say is 0.
struct MemoryInfo {
  int64_t total_bytes = 0;
  int64_t swap_bytes = 0;
  int64_t swap_used_bytes = 0;
};

MemoryInfo ReadMemory(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_MEMORY_H_
