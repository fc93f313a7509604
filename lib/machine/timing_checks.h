// Checks for everything on this machine that makes timings unreliable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "lib/machine/cpu.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"

namespace feedrate {

enum class CheckStatus {
  kOk,
  // Worth knowing, but cannot be fixed from here, or is harmless once known.
  kNote,
  // The default of most machines: widens the spread of timings, but affects
  // runs that alternate equally.
  kUsual,
  // Makes timings unreliable: the machine is unfit as it is.
  kWarn,
  // This machine does not show it.
  kUnknown,
};

struct Check {
  // Such as `governor`. Does not change between releases: scripts look for it.
  std::string name;
  CheckStatus status = CheckStatus::kUnknown;
  // What was found, such as `powersave`.
  std::string observed;
  // How it affects timings. Empty if the status is kOk.
  std::string why;
  // How to fix it, as a command where possible. Empty if the status is kOk.
  std::string remedy;
};

// `ok`, `note`, `usual`, `warn` or `unknown`.
inline const char* CheckStatusName(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kNote:
      return "note";
    case CheckStatus::kUsual:
      return "usual";
    case CheckStatus::kWarn:
      return "warn";
    case CheckStatus::kUnknown:
      return "unknown";
  }
  return "unknown";
}

// How busy the machine is with other work, measured while this process sleeps.
// Values that cannot be read are absent.
struct LoadSample {
  // Fraction of all processors' time, 0 to 1, that the hypervisor gave to
  // others. If the counters do not advance (a recorded machine), since the
  // start.
  std::optional<double> steal_share;
  // Mean number of runnable threads, not counting this one.
  std::optional<double> others_running;
  // Load average of the last minute, as in `uptime`.
  std::optional<double> load_1min;
  // Percentage of the last 10 s in which some thread waited for a processor.
  std::optional<double> cpu_pressure_percent;
};

using Sleeper = std::function<void(absl::Duration)>;

// Samples for `length`, calling `sleep` between samples.
LoadSample SampleLoad(const Root& root, absl::Duration length,
                      const Sleeper& sleep);

// Checks of what changes the processors' clock during a measurement.

// `hypervisor` comes from ReadHypervisor: in a virtual machine the host sets
// the clock.
Check CheckGovernor(const Root& root, const std::string& hypervisor);
Check CheckTurbo(const Root& root, const std::string& hypervisor);

// Returns how often a processor was throttled because of heat since the machine
// started, or nullopt if the machine does not count it.
std::optional<int64_t> ReadThrottleCount(const Root& root);
// Compares two readings, taken before and after sampling the load.
Check CheckThrottling(std::optional<int64_t> before,
                      std::optional<int64_t> after);

Check CheckPower(const Root& root);
Check CheckSmt(const Root& root, int threads_per_core);

// Checks of who else uses the processors, and of limits on how many this
// process may use.

// Warns above 1% of the time: half a second on two processors has 100 ticks of
// the kernel's clock, and a single tick does not mean a noisy neighbor.
Check CheckSteal(const LoadSample& load);
// Warns if on average at least 0.5 other threads were running.
Check CheckRunQueue(const LoadSample& load);
// Warns at 5% of the last 10 s or more.
Check CheckCpuPressure(const LoadSample& load);
// Warns if the quota is less than the number of usable processors.
Check CheckCpuQuota(const CgroupInfo& cgroup, const CpuInfo& cpu);
// Notes if this process is bound to a subset of the available processors.
Check CheckAffinity(const CgroupInfo& cgroup, const CpuInfo& cpu);

// Checks of how the kernel treats memory, time and addresses.

Check CheckSwap(const MemoryInfo& memory);
Check CheckTransparentHugePages(const Root& root);
Check CheckNumaBalancing(const Root& root, int numa_nodes);
// Address space layout randomization of this process and its children.
Check CheckAslr(const Root& root);
Check CheckClockSource(const Root& root);
// `hypervisor` comes from ReadHypervisor.
Check CheckVirtualMachine(const std::string& hypervisor);

// Runs all checks, in a fixed order that is the same on every machine. Samples
// the load for `sample`, calling `sleep` between samples.
std::vector<Check> CheckTiming(const Root& root, absl::Duration sample,
                               const Sleeper& sleep);

}  // namespace feedrate
