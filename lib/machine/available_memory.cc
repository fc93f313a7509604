#include "lib/machine/available_memory.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/machine/cgroup_folders.h"
#include "lib/machine/sizes.h"

namespace feedrate {
namespace {

// The files of one version of control groups.
struct Names {
  const char* limit;
  const char* used;
  const char* reclaimable;  // A word of memory.stat.
};

constexpr Names kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                             "total_inactive_file "};
constexpr Names kVersion2 = {"/memory.max", "/memory.current",
                             "inactive_file "};

std::optional<int64_t> ReadMemInfo(const Root& root) {
  const std::string meminfo = root.Read("/proc/meminfo").value_or("");
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    if (absl::ConsumePrefix(&line, "MemAvailable:")) return ParseSize(line);
  }
  return std::nullopt;
}

// Page cache that the group would give up first.
int64_t Reclaimable(const Root& root, const std::string& folder,
                    const char* word) {
  const std::string text = root.Read(folder + "/memory.stat").value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t bytes;
    if (absl::ConsumePrefix(&line, word) && absl::SimpleAtoi(line, &bytes)) {
      return bytes;
    }
  }
  return 0;
}

}  // namespace

std::optional<int64_t> ReadAvailableMemory(const Root& root) {
  std::optional<int64_t> available = ReadMemInfo(root);
  const CgroupFolders groups = FindCgroup(root, "memory");
  const Names& names = groups.version == 1 ? kVersion1 : kVersion2;
  for (const std::string& folder : groups.folders) {
    // "max" is no number, so no limit.
    const std::optional<int64_t> limit = root.ReadInt(folder + names.limit);
    const std::optional<int64_t> used = root.ReadInt(folder + names.used);
    if (!limit.has_value() || !used.has_value()) continue;
    const int64_t kept =
        *used - std::min(*used, Reclaimable(root, folder, names.reclaimable));
    const int64_t left = std::max<int64_t>(*limit - kept, 0);
    available = std::min(available.value_or(left), left);
  }
  return available;
}

}  // namespace feedrate
