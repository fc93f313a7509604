// How busy a machine is with other things.
#ifndef FEEDRATE_LIB_MACHINE_LOAD_H_
#define FEEDRATE_LIB_MACHINE_LOAD_H_

#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "lib/machine/root.h"

namespace feedrate {

// What was seen during a while of doing nothing. Absent: not readable.
struct LoadSample {
  // Share of all processors' time, 0 to 1, that the hypervisor gave to others.
  // Where the counters stand still (a recorded machine): since it started.
  std::optional<double> steal_share;
  // Mean number of threads that ran or could have run, this one not counted.
  std::optional<double> others_running;
  // Mean of the run queue over the last minute, as `uptime` shows it.
  std::optional<double> load_1min;
  // Per cent of the last 10 s in which some thread waited for a processor.
  std::optional<double> cpu_pressure_percent;
};

using Sleeper = std::function<void(absl::Duration)>;

// Looks for `length`, sleeping in between with `sleep`.
LoadSample SampleLoad(const Root& root, absl::Duration length,
                      const Sleeper& sleep);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_LOAD_H_
