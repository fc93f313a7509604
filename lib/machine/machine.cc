#include "lib/machine/machine.h"

#include "lib/machine/virtual_machine.h"

namespace feedrate {

MachineSource ThisMachine() {
  return {Root(), NvmlLibraries(), ProcessVariables(), "."};
}

MachineSource MachineBelow(const std::string& folder) {
  return {Root(folder),
          {},
          FixedVariables({{"PATH", "/usr/local/bin:/usr/bin:/bin"}}),
          ""};
}

MachineInfo ReadMachine(const MachineSource& source) {
  MachineInfo machine;
  machine.cpu = ReadCpu(source.root);
  machine.memory = ReadMemory(source.root);
  machine.cgroup = ReadCgroup(source.root);
  machine.gpu = ReadGpus(source.nvml_libraries);
  machine.os = ReadOs(source.root);
  machine.torch = FindTorch(source.root, source.variables);
  if (!source.git_folder.empty()) {
    machine.git = ReadGitState(source.git_folder);
  }
  machine.hypervisor = ReadHypervisor(source.root);
  return machine;
}

}  // namespace feedrate
