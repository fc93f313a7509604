// Everything here that makes timings unreliable.
#ifndef FEEDRATE_LIB_MACHINE_TIMING_CHECKS_H_
#define FEEDRATE_LIB_MACHINE_TIMING_CHECKS_H_

#include <vector>

#include "absl/time/time.h"
#include "lib/machine/check.h"
#include "lib/machine/load.h"
#include "lib/machine/root.h"

namespace feedrate {

// Makes every check, in a fixed order, the same on each machine. Looks at the
// load for `sample`, sleeping with `sleep`.
std::vector<Check> CheckTiming(const Root& root, absl::Duration sample,
                               const Sleeper& sleep);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_TIMING_CHECKS_H_
