// Checks of who else uses the processors, and how much of them is ours.
#ifndef FEEDRATE_LIB_MACHINE_LOAD_CHECKS_H_
#define FEEDRATE_LIB_MACHINE_LOAD_CHECKS_H_

#include "lib/machine/cgroup.h"
#include "lib/machine/check.h"
#include "lib/machine/cpu.h"
#include "lib/machine/load.h"

namespace feedrate {

// Warns above 1 % of the time: half a second of two processors has 100 ticks
// of the kernel's clock, and one lone tick is no neighbour.
Check CheckSteal(const LoadSample& load);
// Warns when others ran for at least half of the looks.
Check CheckRunQueue(const LoadSample& load);
// Warns from 5 % of the last 10 s.
Check CheckCpuPressure(const LoadSample& load);
// Warns when the quota is less than the processors that may be used.
Check CheckCpuQuota(const CgroupInfo& cgroup, const CpuInfo& cpu);
// Says when this process is bound to some of its processors.
Check CheckAffinity(const CgroupInfo& cgroup, const CpuInfo& cpu);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_LOAD_CHECKS_H_
