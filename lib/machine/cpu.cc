#include "lib/machine/cpu.h"

#include <sys/utsname.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

struct ArmModel {
  unsigned implementer;
  unsigned part;
  const char* name;
};

// Cores of servers, cloud machines, boards and laptops that run Linux, by the
// implementer and part number in their MIDR register.
constexpr ArmModel kModels[] = {
    {0x41, 0xd03, "Cortex-A53"},    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},   {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd40, "Neoverse-V1"},   {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},  {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},   {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},     {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4a, "Neoverse-E1"},   {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4d, "Cortex-A715"},   {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse-V2"},   {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},   {0x41, 0xd82, "Cortex-X4"},
    {0x41, 0xd83, "Neoverse-V3AE"}, {0x41, 0xd84, "Neoverse-V3"},
    {0x41, 0xd85, "Cortex-X925"},   {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},   {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "Kunpeng-920"},
    {0x4e, 0x004, "Carmel"},        {0x4e, 0x010, "Olympus"},
    {0x51, 0x001, "Oryon"},         {0x61, 0x022, "Apple M1"},
    {0x61, 0x023, "Apple M1"},      {0x61, 0x024, "Apple M1 Pro"},
    {0x61, 0x025, "Apple M1 Pro"},  {0x61, 0x028, "Apple M1 Max"},
    {0x61, 0x029, "Apple M1 Max"},  {0x61, 0x032, "Apple M2"},
    {0x61, 0x033, "Apple M2"},      {0x61, 0x034, "Apple M2 Pro"},
    {0x61, 0x035, "Apple M2 Pro"},  {0x61, 0x038, "Apple M2 Max"},
    {0x61, 0x039, "Apple M2 Max"},  {0x6d, 0xd49, "Azure Cobalt 100"},
    {0xc0, 0xac3, "Ampere-1"},      {0xc0, 0xac4, "Ampere-1a"},
};

// Returns the name of an ARM core, for which /proc/cpuinfo has only numbers:
// `Neoverse-V2` for (`0x41`, `0xd4f`). A core that is not in the table is named
// by its numbers, `ARM-0x41-0xfff`. Empty if a number is missing.
std::string ArmModelName(absl::string_view implementer,
                         absl::string_view part) {
  unsigned implementer_code, part_code;
  if (!absl::SimpleHexAtoi(implementer, &implementer_code) ||
      !absl::SimpleHexAtoi(part, &part_code)) {
    return "";
  }
  for (const ArmModel& model : kModels) {
    if (model.implementer == implementer_code && model.part == part_code) {
      return model.name;
    }
  }
  return absl::StrFormat("ARM-0x%02x-0x%03x", implementer_code, part_code);
}

using Fields = std::map<absl::string_view, absl::string_view>;
using Flags = std::set<absl::string_view>;

// Parses the fields of the first processor, which ends at the first empty line.
Fields FirstProcessor(absl::string_view cpuinfo) {
  Fields fields;
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) {
      if (fields.empty()) continue;
      break;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    fields.try_emplace(absl::StripAsciiWhitespace(field.first),
                       absl::StripAsciiWhitespace(field.second));
  }
  return fields;
}

absl::string_view Get(const Fields& fields, absl::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? absl::string_view() : found->second;
}

bool HasAll(const Flags& flags,
            std::initializer_list<absl::string_view> wanted) {
  for (absl::string_view flag : wanted) {
    if (flags.count(flag) == 0) return false;
  }
  return true;
}

// The levels of the psABI. In the kernel's names `pni` is SSE3 and `abm` is
// LZCNT.
int X86Level(const Flags& flags) {
  if (!HasAll(flags,
              {"lm", "cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse2"})) {
    return 0;
  }
  if (!HasAll(flags, {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2",
                      "ssse3"})) {
    return 1;
  }
  if (!HasAll(flags, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm",
                      "movbe", "xsave"})) {
    return 2;
  }
  if (!HasAll(flags,
              {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) {
    return 3;
  }
  return 4;
}

std::string ModelName(const Fields& fields) {
  // `model name` on x86, `cpu` on POWER, `uarch` on RISC-V.
  for (absl::string_view name : {"model name", "cpu", "uarch", "cpu model"}) {
    const absl::string_view model = Get(fields, name);
    if (!model.empty()) return std::string(model);
  }
  return ArmModelName(Get(fields, "CPU implementer"), Get(fields, "CPU part"));
}

// Clouds use one model name for different processors; these numbers differ.
std::string Signature(const Fields& fields) {
  static constexpr absl::string_view kX86[] = {"vendor_id", "cpu family",
                                               "model", "stepping"};
  static constexpr absl::string_view kArm[] = {"CPU implementer", "CPU part",
                                               "CPU variant", "CPU revision"};
  std::vector<absl::string_view> numbers;
  for (absl::string_view name :
       Get(fields, "vendor_id").empty() ? kArm : kX86) {
    const absl::string_view number = Get(fields, name);
    if (!number.empty()) numbers.push_back(number);
  }
  return absl::StrJoin(numbers, "-");
}

}  // namespace

CpuIdentity ParseCpuInfo(absl::string_view cpuinfo) {
  const Fields fields = FirstProcessor(cpuinfo);
  CpuIdentity cpu;
  cpu.model = ModelName(fields);
  cpu.signature = Signature(fields);
  if (!Get(fields, "CPU implementer").empty()) cpu.architecture = "aarch64";
  const Flags flags =
      absl::StrSplit(Get(fields, "flags"), ' ', absl::SkipEmpty());
  cpu.x86_64_level = X86Level(flags);
  if (cpu.x86_64_level > 0) cpu.architecture = "x86-64";
  cpu.hypervisor = flags.count("hypervisor") > 0;
  return cpu;
}

namespace {

// Enough for the first processor's fields, which take up to 2 KiB. The kernel
// queries each processor's clock as the file is read, so reading all of it
// takes tens of milliseconds on a large machine.
constexpr size_t kCpuInfoBytes = 8192;

std::string Architecture(const Root& root, const CpuIdentity& identity) {
  utsname names;
  if (!root.is_live() || uname(&names) != 0) return identity.architecture;
  const std::string machine = names.machine;
  return machine == "x86_64" ? "x86-64" : machine;
}

int CountInCpuInfo(const Root& root) {
  const std::string cpuinfo = root.Read("/proc/cpuinfo").value_or("");
  int count = 0;
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (absl::StartsWith(line, "processor")) ++count;
  }
  return count;
}

std::vector<int> OnlineCpus(const Root& root) {
  std::vector<int> online =
      ParseCpuList(root.ReadText(absl::StrCat(kCpuFolder, "/online")));
  if (!online.empty()) return online;
  online.resize(CountInCpuInfo(root));
  for (int i = 0; i < online.size(); ++i) online[i] = i;
  return online;
}

// Returns the processors that share a core or package with `cpu`. Kernels
// before 5.3 have only the second name.
std::vector<int> Siblings(const Root& root, int cpu, absl::string_view name,
                          absl::string_view old_name) {
  const std::string folder =
      absl::StrCat(kCpuFolder, "/cpu", cpu, "/topology/");
  const std::vector<int> siblings =
      ParseCpuList(root.ReadText(absl::StrCat(folder, name)));
  if (!siblings.empty()) return siblings;
  return ParseCpuList(root.ReadText(absl::StrCat(folder, old_name)));
}

// Reads one file per socket, not one per processor.
int CountSockets(const Root& root, const std::vector<int>& online) {
  std::set<int> left(online.begin(), online.end());
  int sockets = 0;
  while (!left.empty()) {
    const std::vector<int> package = Siblings(
        root, *left.begin(), "package_cpus_list", "core_siblings_list");
    if (package.empty()) break;
    ++sockets;
    left.erase(left.begin());
    for (int cpu : package) left.erase(cpu);
  }
  return std::max(sockets, 1);
}

int CountNumaNodes(const Root& root) {
  const size_t nodes =
      ParseCpuList(root.ReadText("/sys/devices/system/node/online")).size();
  return std::max<int>(nodes, 1);
}

std::vector<int64_t> CacheSizes(const Root& root, int cpu) {
  const std::string folder = absl::StrCat(kCpuFolder, "/cpu", cpu, "/cache");
  std::map<int64_t, int64_t> size_by_level;
  for (const std::string& name : root.List(folder)) {
    if (!absl::StartsWith(name, "index")) continue;
    const std::string cache = absl::StrCat(folder, "/", name);
    if (root.ReadText(cache + "/type") == "Instruction") continue;
    const int64_t level = root.ReadInt(cache + "/level").value_or(0);
    const int64_t size = ParseSize(root.ReadText(cache + "/size")).value_or(0);
    if (level < 1 || size < 1) continue;
    size_by_level[level] = std::max(size_by_level[level], size);
  }
  std::vector<int64_t> sizes;
  for (const auto& level_and_size : size_by_level) {
    sizes.push_back(level_and_size.second);
  }
  return sizes;
}

}  // namespace

std::vector<int> ReadAffinity(const Root& root) {
  const std::string status = root.Read("/proc/self/status").value_or("");
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (absl::ConsumePrefix(&line, "Cpus_allowed_list:")) {
      const std::vector<int> allowed = ParseCpuList(line);
      if (!allowed.empty()) return allowed;
    }
  }
  return OnlineCpus(root);
}

CpuInfo ReadCpu(const Root& root) {
  const CpuIdentity identity =
      ParseCpuInfo(root.Read("/proc/cpuinfo", kCpuInfoBytes).value_or(""));
  const std::vector<int> online = OnlineCpus(root);
  CpuInfo cpu;
  cpu.model = identity.model;
  cpu.signature = identity.signature;
  cpu.architecture = Architecture(root, identity);
  cpu.x86_64_level = identity.x86_64_level;
  cpu.virtual_cpu = identity.hypervisor;
  cpu.online_cores = online.size();
  cpu.usable_cores = ReadAffinity(root).size();
  if (online.empty()) return cpu;
  cpu.usable_cores = std::min(cpu.usable_cores, cpu.online_cores);
  cpu.sockets = CountSockets(root, online);
  cpu.threads_per_core = std::max<int>(
      Siblings(root, online[0], "core_cpus_list", "thread_siblings_list")
          .size(),
      1);
  cpu.numa_nodes = CountNumaNodes(root);
  cpu.cache_bytes = CacheSizes(root, online[0]);
  return cpu;
}

namespace {

struct Vendor {
  const char* text;  // Found in the firmware's vendor or product name.
  const char* hypervisor;
};

constexpr Vendor kVendors[] = {
    {"KVM", "kvm"},
    {"QEMU", "kvm"},
    {"Google Compute Engine", "kvm"},
    {"Amazon EC2", "kvm"},
    {"OpenStack", "kvm"},
    {"Alibaba Cloud", "kvm"},
    {"DigitalOcean", "kvm"},
    {"Hetzner", "kvm"},
    {"VMware", "vmware"},
    {"VirtualBox", "virtualbox"},
    {"Xen", "xen"},
    {"Apple Virtualization", "apple"},
    {"Virtual Machine", "hyperv"},  // Microsoft's product name.
};

std::string FromFirmware(const Root& root) {
  const std::string vendor = root.ReadText("/sys/class/dmi/id/sys_vendor");
  const std::string product = root.ReadText("/sys/class/dmi/id/product_name");
  // Amazon's bare-metal machines have the same vendor.
  if (absl::EndsWith(product, ".metal")) return "";
  for (const Vendor& known : kVendors) {
    if (absl::StrContains(vendor, known.text) ||
        absl::StrContains(product, known.text)) {
      return known.hypervisor;
    }
  }
  return "";
}

}  // namespace

std::string ReadHypervisor(const Root& root) {
  const std::string xen = root.ReadText("/sys/hypervisor/type");
  if (!xen.empty()) return xen;
  const std::string firmware = FromFirmware(root);
  if (!firmware.empty()) return firmware;
  // Small hypervisors have no such firmware, but can be recognized by their
  // clock or their paravirtual devices.
  const std::string clock = root.ReadText(
      "/sys/devices/system/clocksource/clocksource0/available_clocksource");
  if (absl::StrContains(clock, "kvm-clock")) return "kvm";
  if (absl::StrContains(clock, "hyperv")) return "hyperv";
  if (!root.List("/sys/bus/virtio/devices").empty()) return "unknown";
  const bool virtual_cpu =
      ParseCpuInfo(root.Read("/proc/cpuinfo", 8192).value_or("")).hypervisor;
  return virtual_cpu ? "unknown" : "";
}

}  // namespace feedrate
