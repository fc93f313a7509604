// Memory, the page cache, and the limits that control groups set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

// From /proc/meminfo; missing values are 0.
struct MemoryInfo {
  int64_t total_bytes = 0;
  int64_t swap_bytes = 0;
  int64_t swap_used_bytes = 0;
};

MemoryInfo ReadMemory(const Root& root);

struct CgroupFolders {
  // The version of the hierarchy that has the controller, 1 or 2. 0 if none is
  // mounted.
  int version = 0;
  // The process's own group first, then its parents up to the highest visible
  // one. A limit set in any of them applies to the process.
  std::vector<std::string> folders;
};

// Finds this process's control group for a controller, such as `cpu`. A version
// 1 hierarchy that has the controller wins, because version 2 cannot have it
// then.
CgroupFolders FindCgroup(const Root& root, absl::string_view controller);

struct CgroupInfo {
  // 1 if a version 1 hierarchy limits processors or memory, else 2 if version 2
  // is mounted, else 0.
  int version = 0;
  // CPU quota in processors: the lowest of the group and its parents.
  std::optional<double> cpu_quota;
  // The lowest limit of the group and its parents.
  std::optional<int64_t> memory_limit_bytes;
  // Processors the group may use. Empty if no controller says.
  std::vector<int> cpus;
  // How often the quota has stopped a process of the group since the group was
  // created.
  int64_t throttled_periods = 0;
};

CgroupInfo ReadCgroup(const Root& root);

// Returns the bytes that a program can still allocate before the machine swaps
// or the kernel kills it: MemAvailable of /proc/meminfo, or what remains of the
// lowest control group limit if that is less. Page cache counts as available.
// Returns nullopt if the kernel does not say.
std::optional<int64_t> ReadAvailableMemory(const Root& root);

// Returns the fraction of the files' pages that are in the page cache, 0 to 1,
// from mincore. Empty files do not count; returns 1 if there are no pages.
// Errors name the file.
absl::StatusOr<double> ResidentFraction(const std::vector<std::string>& files);

// Drops the files' pages from the page cache, after syncing them to disk (dirty
// pages cannot be dropped). The kernel may keep some: check with
// ResidentFraction. Pages of in-memory file systems stay.
absl::Status DropPages(const std::vector<std::string>& files);

// Reads the files once, so that their pages are in the page cache.
absl::Status ReadPages(const std::vector<std::string>& files);

}  // namespace feedrate
