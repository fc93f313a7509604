#include "lib/machine/cgroup.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/machine/cgroup_folders.h"
#include "lib/machine/cpu_list.h"

namespace feedrate {
namespace {

// Version 1 writes "no limit" as the largest number of whole pages, which
// depends on the page size; no machine has half as much.
constexpr int64_t kNoLimit = int64_t{1} << 62;

template <typename T>
void Tighten(std::optional<T>* limit, std::optional<T> other) {
  if (!other.has_value()) return;
  *limit = limit->has_value() ? std::min(**limit, *other) : *other;
}

std::optional<double> Quota(std::optional<int64_t> quota_us,
                            std::optional<int64_t> period_us) {
  if (!quota_us.has_value() || *quota_us <= 0) return std::nullopt;
  if (!period_us.has_value() || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / *period_us;
}

std::optional<double> QuotaV1(const Root& root, const std::string& folder) {
  return Quota(root.ReadInt(folder + "/cpu.cfs_quota_us"),
               root.ReadInt(folder + "/cpu.cfs_period_us"));
}

// `max 100000` or `250000 100000`.
std::optional<double> QuotaV2(const Root& root, const std::string& folder) {
  const std::string text = root.ReadText(folder + "/cpu.max");
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  int64_t quota_us, period_us;
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &quota_us) ||
      !absl::SimpleAtoi(words[1], &period_us)) {
    return std::nullopt;
  }
  return Quota(quota_us, period_us);
}

std::optional<int64_t> MemoryLimit(const Root& root, const std::string& path) {
  const std::optional<int64_t> limit = root.ReadInt(path);
  const bool limited = limit.has_value() && *limit > 0 && *limit < kNoLimit;
  return limited ? limit : std::nullopt;
}

// A number from a file of lines such as `nr_throttled 17`.
std::optional<int64_t> ReadField(const Root& root, const std::string& path,
                                 absl::string_view name) {
  const std::string text = root.Read(path).value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t value;
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &value)) {
      return value;
    }
  }
  return std::nullopt;
}

void ReadCpuLimit(const Root& root, CgroupInfo* info) {
  const CgroupFolders cpu = FindCgroup(root, "cpu");
  for (const std::string& folder : cpu.folders) {
    Tighten(&info->cpu_quota,
            cpu.version == 1 ? QuotaV1(root, folder) : QuotaV2(root, folder));
    info->throttled_periods = std::max(
        info->throttled_periods,
        ReadField(root, folder + "/cpu.stat", "nr_throttled").value_or(0));
  }
}

void ReadMemoryLimit(const Root& root, CgroupInfo* info) {
  const CgroupFolders memory = FindCgroup(root, "memory");
  for (const std::string& folder : memory.folders) {
    Tighten(&info->memory_limit_bytes,
            MemoryLimit(root,
                        folder + (memory.version == 1 ? "/memory.limit_in_bytes"
                                                      : "/memory.max")));
    // Knows of parents above what is mounted here. Version 1 only.
    const std::optional<int64_t> inherited =
        ReadField(root, folder + "/memory.stat", "hierarchical_memory_limit");
    if (inherited.value_or(kNoLimit) < kNoLimit) {
      Tighten(&info->memory_limit_bytes, inherited);
    }
  }
}

void ReadCpuset(const Root& root, CgroupInfo* info) {
  const CgroupFolders cpuset = FindCgroup(root, "cpuset");
  for (const std::string& folder : cpuset.folders) {
    for (const char* name :
         {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
      info->cpus = ParseCpuList(root.ReadText(folder + name));
      if (!info->cpus.empty()) return;
    }
  }
}

}  // namespace

CgroupInfo ReadCgroup(const Root& root) {
  CgroupInfo info;
  const int cpu = FindCgroup(root, "cpu").version;
  const int memory = FindCgroup(root, "memory").version;
  info.version = cpu == 1 || memory == 1 ? 1 : std::max(cpu, memory);
  ReadCpuLimit(root, &info);
  ReadMemoryLimit(root, &info);
  ReadCpuset(root, &info);
  return info;
}

}  // namespace feedrate
