// Checks of what changes the processors' clocks under a measurement.
#ifndef FEEDRATE_LIB_MACHINE_FREQUENCY_CHECKS_H_
#define FEEDRATE_LIB_MACHINE_FREQUENCY_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "lib/machine/check.h"
#include "lib/machine/root.h"

namespace feedrate {

// `hypervisor` as ReadHypervisor gives it: in a guest the host decides.
Check CheckGovernor(const Root& root, const std::string& hypervisor);
Check CheckTurbo(const Root& root, const std::string& hypervisor);

// How often heat slowed a processor since the machine started. Absent: the
// machine does not count it.
std::optional<int64_t> ReadThrottleCount(const Root& root);
// Judges two readings, taken before and after looking at the load.
Check CheckThrottling(std::optional<int64_t> before,
                      std::optional<int64_t> after);

Check CheckPower(const Root& root);
Check CheckSmt(const Root& root, int threads_per_core);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_FREQUENCY_CHECKS_H_
