// All that lib/machine knows of a machine, in one call.
#ifndef FEEDRATE_LIB_MACHINE_MACHINE_H_
#define FEEDRATE_LIB_MACHINE_MACHINE_H_

#include <map>
#include <string>
#include <vector>

#include "lib/machine/cgroup.h"
#include "lib/machine/cpu.h"
#include "lib/machine/environment_variables.h"
#include "lib/machine/git_state.h"
#include "lib/machine/gpu.h"
#include "lib/machine/memory.h"
#include "lib/machine/os.h"
#include "lib/machine/root.h"
#include "lib/machine/torch.h"

namespace feedrate {

struct MachineInfo {
  CpuInfo cpu;
  MemoryInfo memory;
  CgroupInfo cgroup;
  GpuSystem gpu;
  OsInfo os;
  TorchInfo torch;
  GitState git;
  // As ReadHypervisor gives it.
  std::string hypervisor;
  // Libraries under test with their versions, which a runner fills in.
  std::map<std::string, std::string> libraries;
};

struct MachineSource {
  Root root;
  // Where to look for NVIDIA's library. Empty: GPUs are not looked for.
  std::vector<std::string> nvml_libraries;
  VariableReader variables;
  // The folder whose checkout is named. Empty: none.
  std::string git_folder;
};

// This machine, as this process sees it.
MachineSource ThisMachine();

// Another machine's files below `folder`: no GPUs, no checkout, and none of
// this process's variables.
MachineSource MachineBelow(const std::string& folder);

// Reads everything. Never fails: what is not known is empty, see each part.
MachineInfo ReadMachine(const MachineSource& source);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_MACHINE_H_
