#include "lib/environment/env_id.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/environment/profile.h"
#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

// Kernel updates and balloon drivers change the total by some megabytes.
int64_t WholeGib(int64_t bytes) {
  constexpr int64_t kGib = int64_t{1} << 30;
  return bytes / kGib + (bytes % kGib >= kGib / 2 ? 1 : 0);
}

class Lines {
 public:
  // A value with a newline must not look like two lines.
  template <typename T>
  void Add(absl::string_view name, const T& value) {
    absl::StrAppend(&text_, name, "=",
                    absl::StrReplaceAll(absl::StrCat(value), {{"\n", "\\n"}}),
                    "\n");
  }
  const std::string& text() const { return text_; }

 private:
  // Changes with the lines below, so that an id of another recipe is another.
  std::string text_ = "feedrate env 1\n";
};

void AddCpu(const MachineInfo& machine, Lines* lines) {
  const CpuInfo& cpu = machine.cpu;
  lines->Add("cpu.model", cpu.model);
  lines->Add("cpu.signature", cpu.signature);
  lines->Add("cpu.architecture", cpu.architecture);
  lines->Add("cpu.x86_64_level", cpu.x86_64_level);
  lines->Add("cpu.cores", MachineCores(machine));
  lines->Add("cpu.online_cores", cpu.online_cores);
  lines->Add("cpu.sockets", cpu.sockets);
  lines->Add("cpu.threads_per_core", cpu.threads_per_core);
  lines->Add("cpu.numa_nodes", cpu.numa_nodes);
  lines->Add("cpu.cache_bytes", absl::StrJoin(cpu.cache_bytes, ","));
}

void AddGpus(const GpuSystem& system, Lines* lines) {
  for (const GpuInfo& gpu : system.gpus) {
    lines->Add("gpu.name", gpu.name);
    lines->Add("gpu.memory_bytes", gpu.memory_bytes);
    lines->Add("gpu.compute_capability", gpu.compute_capability);
  }
  lines->Add("driver", system.driver);
  lines->Add("cuda", system.cuda);
}

}  // namespace

std::map<std::string, std::string> Libraries(const MachineInfo& machine) {
  std::map<std::string, std::string> libraries = machine.libraries;
  if (!machine.os.glibc.empty()) libraries["glibc"] = machine.os.glibc;
  if (!machine.torch.version.empty()) {
    libraries["torch"] = machine.torch.version;
  }
  return libraries;
}

std::string EnvIdText(const MachineInfo& machine) {
  Lines lines;
  AddCpu(machine, &lines);
  lines.Add("memory.gib", WholeGib(machine.memory.total_bytes));
  AddGpus(machine.gpu, &lines);
  lines.Add("kernel", machine.os.kernel);
  for (const auto& library : Libraries(machine)) {
    lines.Add(absl::StrCat("library.", library.first), library.second);
  }
  return lines.text();
}

std::string EnvId(const MachineInfo& machine) {
  constexpr int kDigits = 16;
  return Sha256Hex(EnvIdText(machine)).substr(0, kDigits);
}

}  // namespace feedrate
