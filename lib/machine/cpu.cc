#include "lib/machine/cpu.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/machine/cpu_list.h"
#include "lib/machine/cpuinfo.h"
#include "lib/machine/sizes.h"

namespace feedrate {
namespace {

constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// Enough for the first processor's fields, which have up to 2 KiB. The kernel
// asks every processor for its clock as it writes the file, so reading all of
// it takes tens of milliseconds on a large machine.
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

// The processors that share something with `cpu`. Kernels before 5.3 have only
// the second name.
std::vector<int> Siblings(const Root& root, int cpu, absl::string_view name,
                          absl::string_view old_name) {
  const std::string folder =
      absl::StrCat(kCpuFolder, "/cpu", cpu, "/topology/");
  const std::vector<int> siblings =
      ParseCpuList(root.ReadText(absl::StrCat(folder, name)));
  if (!siblings.empty()) return siblings;
  return ParseCpuList(root.ReadText(absl::StrCat(folder, old_name)));
}

// One file a socket is read, not one a processor.
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

}  // namespace feedrate
