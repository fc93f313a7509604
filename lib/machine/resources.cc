#include "lib/machine/resources.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

MemoryInfo ReadMemory(const Root& root) {
  const std::string meminfo = root.Read("/proc/meminfo").value_or("");
  MemoryInfo memory;
  int64_t swap_free_bytes = 0;
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    int64_t* value = nullptr;
    if (absl::ConsumePrefix(&line, "MemTotal:")) value = &memory.total_bytes;
    if (absl::ConsumePrefix(&line, "SwapTotal:")) value = &memory.swap_bytes;
    if (absl::ConsumePrefix(&line, "SwapFree:")) value = &swap_free_bytes;
    if (value != nullptr) *value = ParseSize(line).value_or(0);
  }
  memory.swap_used_bytes =
      std::max<int64_t>(memory.swap_bytes - swap_free_bytes, 0);
  return memory;
}

namespace {

struct Mount {
  std::string group;   // Path of the mounted group.
  std::string folder;  // The mount point.
};

bool Contains(absl::string_view comma_list, absl::string_view word) {
  const std::vector<absl::string_view> words = absl::StrSplit(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes space, tab, newline and backslash as `\040` and so on.
std::string Unescape(absl::string_view path) {
  std::string plain;
  return absl::CUnescape(path, &plain) ? plain : std::string(path);
}

// Finds the mount of the version 1 hierarchy with `controller`, or of the
// version 2 hierarchy if `controller` is empty. See proc(5) for the fields.
std::optional<Mount> FindMount(absl::string_view mountinfo,
                               absl::string_view controller) {
  const absl::string_view wanted_type =
      controller.empty() ? "cgroup2" : "cgroup";
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, " - ");
    if (halves.size() != 2) continue;
    const std::vector<absl::string_view> where = absl::StrSplit(halves[0], ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(halves[1], ' ');
    if (where.size() < 5 || what.size() < 3 || what[0] != wanted_type) continue;
    if (!controller.empty() && !Contains(what[2], controller)) continue;
    return Mount{Unescape(where[3]), Unescape(where[4])};
  }
  return std::nullopt;
}

// Finds the path of the process's group in that hierarchy, in lines such as
// `4:memory:/a/b` (version 1) and `0::/a/b` (version 2).
std::optional<std::string> FindGroup(absl::string_view self_cgroup,
                                     absl::string_view controller) {
  for (absl::string_view line : absl::StrSplit(self_cgroup, '\n')) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool matches = controller.empty()
                             ? fields[0] == "0" && fields[1].empty()
                             : Contains(fields[1], controller);
    if (matches) return std::string(fields[2]);
  }
  return std::nullopt;
}

// Returns the folders from the group up to the mount. A container may see its
// group under the host's name, or above the mount (`/..`): then the only folder
// is the mount itself.
std::vector<std::string> FoldersUpTo(const Mount& mount,
                                     const std::string& group) {
  absl::string_view below = group;
  const bool inside =
      absl::ConsumePrefix(&below, absl::StripSuffix(mount.group, "/"));
  if (!inside || absl::StrContains(below, "..")) below = "";
  std::vector<std::string> folders;
  while (!below.empty() && below != "/") {
    folders.push_back(absl::StrCat(mount.folder, below));
    below = below.substr(
        0, below.rfind('/') == absl::string_view::npos ? 0 : below.rfind('/'));
  }
  folders.push_back(mount.folder);
  return folders;
}

}  // namespace

CgroupFolders FindCgroup(const Root& root, absl::string_view controller) {
  const std::string mountinfo = root.Read("/proc/self/mountinfo").value_or("");
  const std::string groups = root.Read("/proc/self/cgroup").value_or("");
  for (const int version : {1, 2}) {
    const absl::string_view name =
        version == 1 ? controller : absl::string_view();
    const std::optional<Mount> mount = FindMount(mountinfo, name);
    if (!mount.has_value()) continue;
    const std::string group = FindGroup(groups, name).value_or("");
    return {version, FoldersUpTo(*mount, group)};
  }
  return {};
}

namespace {

// Version 1 writes "no limit" as the largest number of whole pages, which
// depends on the page size. No machine has half as much memory.
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

// Reads a number from a file with lines such as `nr_throttled 17`.
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
    // Includes parents above the mount. Version 1 only.
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

namespace {

// File names of one version of control groups.
struct Names {
  const char* limit;
  const char* used;
  const char* reclaimable;  // A key in memory.stat.
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

// Returns the size of the page cache that the group would give up first.
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
    // "max" is not a number and means no limit.
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

namespace {

absl::Status FileError(const std::string& path, const char* what) {
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(text)
                         : absl::UnavailableError(text);
}

struct Pages {
  int64_t all = 0;
  int64_t resident = 0;
};

absl::StatusOr<UniqueFd> Open(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return FileError(path, "open");
  return file;
}

absl::Status CountPages(const std::string& path, Pages* pages) {
  ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FileError(path, "look at");
  if (info.st_size == 0) return absl::OkStatus();
  const int64_t page = sysconf(_SC_PAGESIZE);
  // Readable, because QEMU answers for no other memory. Nothing reads it.
  void* const map =
      mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return FileError(path, "map");
  std::vector<unsigned char> present((info.st_size + page - 1) / page);
  const int asked = mincore(map, info.st_size, present.data());
  const int error = errno;
  munmap(map, info.st_size);
  errno = error;
  if (asked != 0) return FileError(path, "ask about");
  pages->all += static_cast<int64_t>(present.size());
  for (const unsigned char flags : present) pages->resident += flags & 1;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ResidentFraction(const std::vector<std::string>& files) {
  Pages pages;
  for (const std::string& path : files) {
    RETURN_IF_ERROR(CountPages(path, &pages));
  }
  if (pages.all == 0) return 1.0;
  return static_cast<double>(pages.resident) / static_cast<double>(pages.all);
}

absl::Status DropPages(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
    // Dirty pages cannot be dropped.
    if (fsync(file.get()) != 0) return FileError(path, "sync");
    const int failed = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (failed == 0) continue;
    errno = failed;
    return FileError(path, "drop the pages of");
  }
  return absl::OkStatus();
}

absl::Status ReadPages(const std::vector<std::string>& files) {
  std::vector<char> buffer(1 << 20);
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
    ssize_t got = 1;
    while (got > 0) {
      got = read(file.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) got = 1;
    }
    if (got < 0) return FileError(path, "read");
  }
  return absl::OkStatus();
}

}  // namespace feedrate
