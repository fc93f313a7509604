// Everything that lib/machine knows about a machine, in one call.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/machine/cpu.h"
#include "lib/machine/git_state.h"
#include "lib/machine/gpu.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"

namespace feedrate {

// Returns the value of an environment variable, or "" if it is not set: for the
// variables read here, empty and unset mean the same.
using VariableReader = std::function<std::string(const std::string& name)>;

// The environment variables of this process.
inline VariableReader ProcessVariables() {
  return [](const std::string& name) -> std::string {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
  };
}

// Only the given variables.
inline VariableReader FixedVariables(std::map<std::string, std::string> all) {
  return [all](const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string() : found->second;
  };
}

// Names of the host, its kernel and its distribution. Unknown values are empty.
struct OsInfo {
  std::string host;
  // Release of the kernel, such as `6.1.0-18-amd64`.
  std::string kernel;
  // Name and version, such as `Debian GNU/Linux 12 (bookworm)`.
  std::string distribution;
  // Version of the C library in this process, such as `2.36`; empty for
  // another machine's files.
  std::string glibc;
};

OsInfo ReadOs(const Root& root);

// Returns the folders in which the `python3` of PATH looks for packages, in its
// search order; some may not exist. Handles virtual environments, pyenv's
// shims, Debian's dist-packages, the user's own packages and PYTHONPATH, but
// not .pth files.
//
// Running Python would take longer than everything else that reads a machine.
std::vector<std::string> PythonPackageFolders(const Root& root,
                                              const VariableReader& variables);

struct TorchInfo {
  // Such as `2.11.0+cu130`. Empty if there is none.
  std::string version;
  // The package's folder, which contains include/ and lib/.
  std::string folder;
};

// The release that feedrate is built and tested with.
inline constexpr char kTorchVersion[] = "2.11.0";

// Finds the torch that programs here use, without starting Python. The first
// that exists of: TORCH_ROOT (if set, only that), feedrate's own copies of that
// release in the user's cache, python3's torch. The build and the launcher look
// in the same places, see third_party/torch/find_torch.sh.
TorchInfo FindTorch(const Root& root, const VariableReader& variables);

struct MachineInfo {
  CpuInfo cpu;
  MemoryInfo memory;
  CgroupInfo cgroup;
  GpuSystem gpu;
  OsInfo os;
  TorchInfo torch;
  GitState git;
  // From ReadHypervisor.
  std::string hypervisor;
  // Versions of the libraries under test, filled in by a runner.
  std::map<std::string, std::string> libraries;
};

struct MachineSource {
  Root root;
  // Where to look for NVIDIA's library. Empty means that no GPU is looked for.
  std::vector<std::string> nvml_libraries;
  VariableReader variables;
  // A folder in the git checkout to describe. Empty means none.
  std::string git_folder;
};

// This machine as seen by this process.
MachineSource ThisMachine();

// A copy of another machine's files in `folder`: no GPUs, no checkout, and none
// of this process's variables.
MachineSource MachineBelow(const std::string& folder);

// Reads everything. Never fails: unknown values are empty, see each part.
MachineInfo ReadMachine(const MachineSource& source);

}  // namespace feedrate
