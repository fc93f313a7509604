// How much memory a program may still take.
#ifndef FEEDRATE_LIB_MACHINE_AVAILABLE_MEMORY_H_
#define FEEDRATE_LIB_MACHINE_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <optional>

#include "lib/machine/root.h"

namespace feedrate {

// Bytes that can be used before the machine swaps or the kernel kills: what
// /proc/meminfo calls available, or what is left of the tightest limit of this
// process's control groups where that is less. Page cache counts as available.
// Nothing when the kernel does not tell.
std::optional<int64_t> ReadAvailableMemory(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_AVAILABLE_MEMORY_H_
