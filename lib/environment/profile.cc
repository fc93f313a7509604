#include "lib/environment/profile.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/environment/short_name.h"

namespace feedrate {
namespace {

// The first `count` parts of a version: (`2.11.0+cu130`, 2) is `2.11`.
std::string VersionPrefix(absl::string_view version, int count) {
  std::vector<absl::string_view> parts =
      absl::StrSplit(version, absl::ByAnyChar(".+"));
  if (parts.size() > count) parts.resize(count);
  return absl::StrJoin(parts, ".");
}

// `h200x1`, or `h200x1+l4x2` for several kinds in the order of the bus.
std::string CountedNames(const std::vector<GpuInfo>& gpus) {
  std::vector<std::string> names;
  std::vector<int> counts;
  for (const GpuInfo& gpu : gpus) {
    const std::string name = ShortGpuName(gpu.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      ++counts[found - names.begin()];
      continue;
    }
    names.push_back(name);
    counts.push_back(1);
  }
  for (int i = 0; i < names.size(); ++i) {
    absl::StrAppend(&names[i], "x", counts[i]);
  }
  return absl::StrJoin(names, "+");
}

// `sm90`, or `sm90+sm89`.
std::string Architectures(const std::vector<GpuInfo>& gpus) {
  std::vector<std::string> names;
  for (const GpuInfo& gpu : gpus) {
    if (gpu.compute_capability.empty()) continue;
    const std::string name = absl::StrCat(
        "sm", absl::StrReplaceAll(gpu.compute_capability, {{".", ""}}));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return absl::StrJoin(names, "+");
}

std::string GpuProfile(const MachineInfo& machine) {
  std::vector<std::string> parts = {CountedNames(machine.gpu.gpus)};
  if (!machine.gpu.driver.empty()) {
    parts.push_back(
        absl::StrCat("driver", VersionPrefix(machine.gpu.driver, 1)));
  }
  if (!machine.gpu.cuda.empty()) {
    parts.push_back(absl::StrCat("cuda", machine.gpu.cuda));
  }
  if (!machine.torch.version.empty()) {
    parts.push_back(
        absl::StrCat("torch", VersionPrefix(machine.torch.version, 2)));
  }
  const std::string architectures = Architectures(machine.gpu.gpus);
  if (!architectures.empty()) parts.push_back(architectures);
  return absl::StrJoin(parts, "_");
}

// `xeon-8481c`. Some hypervisors pass on the family alone, `Intel(R) Xeon(R)
// Processor`; its model number then tells generations apart: `xeon-m207`.
std::string CpuName(const CpuInfo& cpu) {
  const std::string name = ShortCpuName(cpu.model);
  const bool family_alone =
      std::all_of(name.begin(), name.end(), absl::ascii_isalpha);
  const std::vector<absl::string_view> signature =
      absl::StrSplit(cpu.signature, '-');
  const bool x86 = signature.size() == 4 && cpu.x86_64_level > 0;
  return family_alone && x86 ? absl::StrCat(name, "-m", signature[2]) : name;
}

std::string CpuProfile(const MachineInfo& machine) {
  std::vector<std::string> parts = {CpuName(machine.cpu)};
  const int cores = MachineCores(machine);
  if (cores > 0) parts.push_back(absl::StrCat(cores, "c"));
  if (!machine.cpu.architecture.empty()) {
    parts.push_back(machine.cpu.architecture);
  }
  return absl::StrJoin(parts, "_");
}

}  // namespace

int MachineCores(const MachineInfo& machine) {
  int cores = machine.cpu.online_cores;
  if (!machine.cgroup.cpus.empty()) {
    cores = std::min<int>(cores, machine.cgroup.cpus.size());
  }
  if (machine.cgroup.cpu_quota.has_value()) {
    cores = std::min<double>(cores, std::ceil(*machine.cgroup.cpu_quota));
  }
  return cores;
}

std::string MachineProfile(const MachineInfo& machine) {
  return machine.gpu.gpus.empty() ? CpuProfile(machine) : GpuProfile(machine);
}

}  // namespace feedrate
