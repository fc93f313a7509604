// Limits that control groups set for this process.
#ifndef FEEDRATE_LIB_MACHINE_CGROUP_H_
#define FEEDRATE_LIB_MACHINE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/machine/root.h"

namespace feedrate {

struct CgroupInfo {
  // 1 when a version 1 hierarchy limits processors or memory, else 2 when
  // version 2 is mounted, else 0.
  int version = 0;
  // Processors' worth of time, the tightest of the group and its parents.
  std::optional<double> cpu_quota;
  // The tightest of the group and its parents.
  std::optional<int64_t> memory_limit_bytes;
  // Processors the group may use. Empty: no controller tells.
  std::vector<int> cpus;
  // How often the quota stopped a process of the group since it was made.
  int64_t throttled_periods = 0;
};

CgroupInfo ReadCgroup(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CGROUP_H_
