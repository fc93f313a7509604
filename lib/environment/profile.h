// The short name of a machine, by which rows are told apart.
#ifndef FEEDRATE_LIB_ENVIRONMENT_PROFILE_H_
#define FEEDRATE_LIB_ENVIRONMENT_PROFILE_H_

#include <string>

#include "lib/machine/machine.h"

namespace feedrate {

// Size of the machine, or of the container, in processors: those online, those
// that its control group may use, or the group's quota rounded up, whichever
// is least. This process's own affinity does not count, because `taskset` does
// not make another machine. 0 when nothing tells.
int MachineCores(const MachineInfo& machine);

// `xeon-8481c_16c_x86-64`; with NVIDIA GPUs
// `h200x1_driver580_cuda13.0_torch2.11_sm90`. Parts that are not known, such
// as torch where there is none, are left out. Does not change with clocks,
// load, affinity, user or host name.
std::string MachineProfile(const MachineInfo& machine);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ENVIRONMENT_PROFILE_H_
