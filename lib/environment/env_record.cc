#include "lib/environment/env_record.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/tool/tool_info.h"
#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

bool IsOneOf(absl::string_view word,
             std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

absl::string_view Before(absl::string_view text, absl::string_view mark) {
  return text.substr(0, text.find(mark));
}

// Keeps letters, digits and dots; everything between them becomes one hyphen.
std::string Plain(absl::string_view word) {
  std::string plain;
  for (const char c : word) {
    if (absl::ascii_isalnum(c) || c == '.') {
      plain.push_back(c);
    } else if (!plain.empty() && plain.back() != '-') {
      plain.push_back('-');
    }
  }
  return std::string(absl::StripSuffix(plain, "-"));
}

std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    std::string plain = Plain(word);
    if (!plain.empty()) words.push_back(std::move(plain));
  }
  return words;
}

// `13th` of `13th Gen`.
bool IsOrdinal(absl::string_view word) {
  return word.size() > 2 && absl::ascii_isdigit(word[0]) &&
         IsOneOf(word.substr(word.size() - 2), {"st", "nd", "rd", "th"});
}

// Whether a word is common to all processors of a vendor.
bool SaysNothing(absl::string_view word) {
  return IsOneOf(word, {"amd", "cpu", "gen", "genuine", "intel", "processor",
                        "version", "virtual"}) ||
         absl::EndsWith(word, "-core") || IsOrdinal(word);
}

// Drops words that the following number implies: the metal of a Xeon, and the
// family in `Core i7-1360P`.
void DropImplied(std::vector<std::string>* words) {
  const bool xeon = !words->empty() && words->front() == "xeon";
  if (xeon && words->size() > 2 &&
      IsOneOf((*words)[1], {"platinum", "gold", "silver", "bronze"})) {
    words->erase(words->begin() + 1);
  }
  if (words->size() > 1 && words->front() == "core" &&
      IsOneOf((*words)[1].substr(0, 3), {"i3-", "i5-", "i7-", "i9-"})) {
    words->erase(words->begin());
  }
}

}  // namespace

std::string ShortCpuName(absl::string_view model) {
  std::string text = absl::StrReplaceAll(
      absl::AsciiStrToLower(model),
      {{"(r)", " "}, {"(tm)", " "}, {"(c)", " "}, {"(", " "}, {")", " "}});
  // `Core(TM)2 Duo` is one word.
  text = absl::StrReplaceAll(text, {{"core 2 ", "core2 "}});
  const std::vector<absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('@', 1));
  // The rest names graphics, security fixes or features: `EPYC with IBPB`,
  // `Skylake, IBRS`.
  absl::string_view name = halves[0];
  for (absl::string_view mark : {",", " with ", " w/ "}) {
    name = Before(name, mark);
  }
  std::vector<std::string> words = Words(name);
  words.erase(std::remove_if(words.begin(), words.end(), SaysNothing),
              words.end());
  // Some clouds give only a family and a clock.
  if (words.size() <= 1 && halves.size() == 2) {
    for (std::string& word : Words(halves[1])) {
      words.push_back(std::move(word));
    }
  }
  DropImplied(&words);
  return words.empty() ? "cpu" : absl::StrJoin(words, "-");
}

std::string ShortGpuName(absl::string_view name) {
  std::vector<std::string> words = Words(absl::AsciiStrToLower(name));
  words.erase(
      std::remove_if(
          words.begin(), words.end(),
          [](absl::string_view word) {
            return IsOneOf(word, {"nvidia", "tesla", "geforce", "generation"});
          }),
      words.end());
  return words.empty() ? "gpu" : absl::StrJoin(words, "-");
}

namespace {

// Returns the first `count` parts of a version: (`2.11.0+cu130`, 2) gives
// `2.11`.
std::string VersionPrefix(absl::string_view version, int count) {
  std::vector<absl::string_view> parts =
      absl::StrSplit(version, absl::ByAnyChar(".+"));
  if (parts.size() > count) parts.resize(count);
  return absl::StrJoin(parts, ".");
}

// `h200x1`, or `h200x1+l4x2` for several kinds in PCI bus order.
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

// `xeon-8481c`. Some hypervisors give only the family, `Intel(R) Xeon(R)
// Processor`; then the model number distinguishes generations: `xeon-m207`.
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

namespace {

// Kernel updates and balloon drivers change the total by a few megabytes.
int64_t WholeGib(int64_t bytes) {
  constexpr int64_t kGib = int64_t{1} << 30;
  return bytes / kGib + (bytes % kGib >= kGib / 2 ? 1 : 0);
}

class Lines {
 public:
  // Escapes newlines, so that a value cannot look like two lines.
  template <typename T>
  void Add(absl::string_view name, const T& value) {
    absl::StrAppend(&text_, name, "=",
                    absl::StrReplaceAll(absl::StrCat(value), {{"\n", "\\n"}}),
                    "\n");
  }
  const std::string& text() const { return text_; }

 private:
  // Increase this number when the lines below change, so that ids of different
  // recipes differ.
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

namespace {

void FillCpu(const MachineInfo& machine, Cpu* record) {
  const CpuInfo& cpu = machine.cpu;
  record->set_model(cpu.model);
  record->set_architecture(cpu.architecture);
  record->set_x86_64_level(cpu.x86_64_level);
  record->set_usable_cores(cpu.usable_cores);
  record->set_online_cores(cpu.online_cores);
  record->set_sockets(cpu.sockets);
  record->set_threads_per_core(cpu.threads_per_core);
  record->set_numa_nodes(cpu.numa_nodes);
  for (const int64_t size : cpu.cache_bytes) record->add_cache_bytes(size);
  record->set_hypervisor(machine.hypervisor);
}

void FillCgroup(const CgroupInfo& cgroup, Cgroup* record) {
  record->set_version(cgroup.version);
  if (cgroup.cpu_quota.has_value()) record->set_cpu_quota(*cgroup.cpu_quota);
  if (cgroup.memory_limit_bytes.has_value()) {
    record->set_memory_limit_bytes(*cgroup.memory_limit_bytes);
  }
  record->set_cpuset_cores(cgroup.cpus.size());
}

void FillGpu(const GpuInfo& gpu, Gpu* record) {
  record->set_name(gpu.name);
  record->set_memory_bytes(gpu.memory_bytes);
  record->set_compute_capability(gpu.compute_capability);
  if (gpu.power_limit_w.has_value()) {
    record->set_power_limit_w(*gpu.power_limit_w);
  }
  if (gpu.ecc.has_value()) record->set_ecc(*gpu.ecc);
  if (gpu.mig.has_value()) record->set_mig(*gpu.mig);
}

void FillGit(const GitState& git, Git* record) {
  record->set_revision(git.revision);
  if (git.dirty.has_value()) record->set_dirty(*git.dirty);
}

}  // namespace

Env EnvRecord(const MachineInfo& machine, absl::Time collected_at) {
  Env env;
  env.set_env_id(EnvId(machine));
  env.set_machine_profile(MachineProfile(machine));
  env.set_host(machine.os.host);
  FillCpu(machine, env.mutable_cpu());
  env.mutable_memory()->set_total_bytes(machine.memory.total_bytes);
  env.mutable_memory()->set_swap_bytes(machine.memory.swap_bytes);
  FillCgroup(machine.cgroup, env.mutable_cgroup());
  for (const GpuInfo& gpu : machine.gpu.gpus) FillGpu(gpu, env.add_gpus());
  if (!machine.gpu.problem.empty()) env.set_gpu_problem(machine.gpu.problem);
  env.set_driver(machine.gpu.driver);
  env.set_cuda(machine.gpu.cuda);
  env.set_kernel(machine.os.kernel);
  env.set_os(machine.os.distribution);
  for (const auto& library : Libraries(machine)) {
    (*env.mutable_libraries())[library.first] = library.second;
  }
  FillGit(machine.git, env.mutable_git());
  env.set_feedrate_version(kVersion);
  env.set_collected_at(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", collected_at,
                                        absl::UTCTimeZone()));
  return env;
}

EnvCheck EnvCheckRecord(const Check& check) {
  EnvCheck record;
  record.set_name(check.name);
  record.set_status(CheckStatusName(check.status));
  record.set_observed(check.observed);
  record.set_why(check.why);
  record.set_remedy(check.remedy);
  return record;
}

}  // namespace feedrate
