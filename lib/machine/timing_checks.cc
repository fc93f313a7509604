#include "lib/machine/timing_checks.h"

#include <cstdint>
#include <optional>
#include <string>

#include "lib/machine/cgroup.h"
#include "lib/machine/cpu.h"
#include "lib/machine/frequency_checks.h"
#include "lib/machine/kernel_checks.h"
#include "lib/machine/load_checks.h"
#include "lib/machine/memory.h"
#include "lib/machine/virtual_machine.h"

namespace feedrate {

std::vector<Check> CheckTiming(const Root& root, absl::Duration sample,
                               const Sleeper& sleep) {
  const CpuInfo cpu = ReadCpu(root);
  const CgroupInfo cgroup = ReadCgroup(root);
  const std::string hypervisor = ReadHypervisor(root);
  const std::optional<int64_t> throttled_before = ReadThrottleCount(root);
  const LoadSample load = SampleLoad(root, sample, sleep);
  return {
      CheckGovernor(root, hypervisor),
      CheckTurbo(root, hypervisor),
      CheckThrottling(throttled_before, ReadThrottleCount(root)),
      CheckPower(root),
      CheckSmt(root, cpu.threads_per_core),
      CheckSteal(load),
      CheckRunQueue(load),
      CheckCpuPressure(load),
      CheckCpuQuota(cgroup, cpu),
      CheckAffinity(cgroup, cpu),
      CheckSwap(ReadMemory(root)),
      CheckTransparentHugePages(root),
      CheckNumaBalancing(root, cpu.numa_nodes),
      CheckAslr(root),
      CheckClockSource(root),
      CheckVirtualMachine(hypervisor),
  };
}

}  // namespace feedrate
