#include "lib/machine/load_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

constexpr double kMaxStealShare = 0.01;
constexpr double kMaxOthersRunning = 0.5;
constexpr double kMaxPressurePercent = 5.0;

constexpr char kStopOthers[] =
    "stop what else runs: ps -eo pcpu,pid,comm --sort=-pcpu | head";

Check StatIsMissing(const char* name, const char* why) {
  return {name, CheckStatus::kUnknown, "/proc/stat is not readable", why,
          "mount /proc"};
}

}  // namespace

Check CheckSteal(const LoadSample& load) {
  const char* const why = "the host runs other guests on these processors";
  if (!load.steal_share.has_value()) return StatIsMissing("steal", why);
  const std::string observed =
      absl::StrFormat("%.1f %% of the time", 100 * *load.steal_share);
  if (*load.steal_share <= kMaxStealShare) return Ok("steal", observed);
  return {"steal", CheckStatus::kWarn, observed, why,
          "use a dedicated host or a machine type without shared processors, "
          "or wait"};
}

Check CheckRunQueue(const LoadSample& load) {
  const char* const why = "other work takes processors, caches and bandwidth";
  if (!load.others_running.has_value()) return StatIsMissing("run_queue", why);
  std::string observed =
      absl::StrFormat("%.1f others running", *load.others_running);
  if (load.load_1min.has_value()) {
    absl::StrAppendFormat(&observed, ", load %.2f", *load.load_1min);
  }
  if (*load.others_running < kMaxOthersRunning) {
    return Ok("run_queue", observed);
  }
  return {"run_queue", CheckStatus::kWarn, observed, why, kStopOthers};
}

Check CheckCpuPressure(const LoadSample& load) {
  if (!load.cpu_pressure_percent.has_value()) {
    return {"cpu_pressure", CheckStatus::kNote, "not measured by this kernel",
            "waiting for a processor shows only in the run queue",
            "boot with psi=1 where the kernel has it"};
  }
  const std::string observed =
      absl::StrFormat("%.1f %% of the last 10 s", *load.cpu_pressure_percent);
  if (*load.cpu_pressure_percent < kMaxPressurePercent) {
    return Ok("cpu_pressure", observed);
  }
  return {"cpu_pressure", CheckStatus::kWarn, observed,
          "threads wait for a processor", kStopOthers};
}

Check CheckCpuQuota(const CgroupInfo& cgroup, const CpuInfo& cpu) {
  if (!cgroup.cpu_quota.has_value()) return Ok("cpu_quota", "none");
  const std::string observed = absl::StrFormat(
      "%.4g of %d processors, stopped %d times", *cgroup.cpu_quota,
      cpu.usable_cores, cgroup.throttled_periods);
  if (*cgroup.cpu_quota >= cpu.usable_cores) return Ok("cpu_quota", observed);
  return {"cpu_quota", CheckStatus::kWarn, observed,
          "once the share of a period is used up, everything stops until the "
          "next",
          "bind the container to whole processors instead: --cpuset-cpus, "
          "CPU manager policy static, AllowedCPUs="};
}

Check CheckAffinity(const CgroupInfo& cgroup, const CpuInfo& cpu) {
  const int available =
      cgroup.cpus.empty() ? cpu.online_cores : cgroup.cpus.size();
  const std::string observed =
      absl::StrCat(cpu.usable_cores, " of ", available, " processors");
  if (cpu.usable_cores >= available) return Ok("affinity", observed);
  return {"affinity", CheckStatus::kNote, observed,
          "this process is bound to some of the machine's processors",
          "start it without taskset, unless that is wanted"};
}

}  // namespace feedrate
