// Checks of how the kernel treats memory, time and addresses.
#ifndef FEEDRATE_LIB_MACHINE_KERNEL_CHECKS_H_
#define FEEDRATE_LIB_MACHINE_KERNEL_CHECKS_H_

#include <string>

#include "lib/machine/check.h"
#include "lib/machine/memory.h"
#include "lib/machine/root.h"

namespace feedrate {

Check CheckSwap(const MemoryInfo& memory);
Check CheckTransparentHugePages(const Root& root);
Check CheckNumaBalancing(const Root& root, int numa_nodes);
// Address space layout randomisation of this process and what it starts.
Check CheckAslr(const Root& root);
Check CheckClockSource(const Root& root);
// `hypervisor` as ReadHypervisor gives it.
Check CheckVirtualMachine(const std::string& hypervisor);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_KERNEL_CHECKS_H_
