#include "lib/machine/timing_checks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Returns a check with status kOk.
Check Ok(std::string name, std::string observed) {
  return {std::move(name), CheckStatus::kOk, std::move(observed), "", ""};
}

// The run queue changes within milliseconds, so one sample says little. With
// more samples than this, the sampling itself would show in it.
constexpr int kLooks = 20;

struct StatReading {
  int64_t total_ticks = 0;
  std::optional<int64_t> steal_ticks;
  std::optional<int64_t> running;
};

// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guest
// time is included in user time and not added again.
void ParseCpuLine(absl::string_view line, StatReading* reading) {
  constexpr int kSteal = 7;
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() <= kSteal) return;
  int64_t total = 0;
  int64_t ticks = 0;
  for (int i = 0; i <= kSteal; ++i) {
    // Real counters are far below this; the limit prevents overflow of the sum.
    if (!absl::SimpleAtoi(words[i], &ticks) || ticks < 0 ||
        ticks > INT64_MAX / 16) {
      return;
    }
    total += ticks;
  }
  reading->total_ticks = total;
  reading->steal_ticks = ticks;
}

StatReading ReadStat(const Root& root) {
  StatReading reading;
  const std::string stat = root.Read("/proc/stat").value_or("");
  for (absl::string_view line : absl::StrSplit(stat, '\n')) {
    int64_t running;
    if (absl::ConsumePrefix(&line, "cpu ")) {
      ParseCpuLine(line, &reading);
    } else if (absl::ConsumePrefix(&line, "procs_running ") &&
               absl::SimpleAtoi(line, &running)) {
      reading.running = running;
    }
  }
  return reading;
}

std::optional<double> StealShare(const StatReading& first,
                                 const StatReading& last) {
  if (!first.steal_ticks || !last.steal_ticks) return std::nullopt;
  int64_t steal = *last.steal_ticks - *first.steal_ticks;
  int64_t total = last.total_ticks - first.total_ticks;
  if (total <= 0) {
    steal = *last.steal_ticks;
    total = last.total_ticks;
  }
  if (total <= 0) return std::nullopt;
  // A kernel may set a counter back a little; the result must not be negative.
  return std::max(0.0, static_cast<double>(steal) / total);
}

// Returns the number between `prefix` and the next space in the first line.
std::optional<double> FirstNumber(const Root& root, absl::string_view path,
                                  absl::string_view prefix) {
  const std::string text = root.ReadText(path);
  absl::string_view rest = text;
  double value;
  if (!absl::ConsumePrefix(&rest, prefix) ||
      !absl::SimpleAtod(rest.substr(0, rest.find(' ')), &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

LoadSample SampleLoad(const Root& root, absl::Duration length,
                      const Sleeper& sleep) {
  const StatReading first = ReadStat(root);
  StatReading last = first;
  double running_sum = 0;
  int running_looks = 0;
  for (int i = 0; i < kLooks; ++i) {
    sleep(length / kLooks);
    last = ReadStat(root);
    if (!last.running.has_value()) continue;
    running_sum += std::max<int64_t>(*last.running - 1, 0);
    ++running_looks;
  }
  LoadSample sample;
  sample.steal_share = StealShare(first, last);
  if (running_looks > 0) sample.others_running = running_sum / running_looks;
  sample.load_1min = FirstNumber(root, "/proc/loadavg", "");
  sample.cpu_pressure_percent =
      FirstNumber(root, "/proc/pressure/cpu", "some avg10=");
  return sample;
}

namespace {

// Returns the distinct values of a file over all groups of processors that
// share a clock.
std::set<std::string> PolicyValues(const Root& root, absl::string_view file) {
  const std::string folder = absl::StrCat(kCpuFolder, "/cpufreq");
  std::set<std::string> values;
  for (const std::string& name : root.List(folder)) {
    if (!absl::StartsWith(name, "policy")) continue;
    const std::string value =
        root.ReadText(absl::StrCat(folder, "/", name, "/", file));
    if (!value.empty()) values.insert(value);
  }
  return values;
}

Check SetElsewhere(std::string name, const std::string& hypervisor) {
  if (hypervisor.empty()) {
    return {std::move(name), CheckStatus::kUnknown, "not visible",
            "the firmware sets the clock and this kernel does not show how",
            "look at the firmware's power settings"};
  }
  return {std::move(name), CheckStatus::kUnknown, "not visible in this guest",
          "the host sets the clock, and may change it at any time",
          "run A and B alternately, so that the clock affects both equally"};
}

Check TurboIsOn(absl::string_view command) {
  return {"turbo", CheckStatus::kUsual, "on",
          "the clock depends on heat and on how many processors are busy",
          absl::StrCat(command, "  # until the next start")};
}

// Whether boost is on. Returns nullopt if the machine has no such switch.
std::optional<bool> BoostSwitch(const Root& root) {
  std::set<std::string> values = PolicyValues(root, "boost");
  const std::string all =
      root.ReadText("/sys/devices/system/cpu/cpufreq/boost");
  if (!all.empty()) values.insert(all);
  if (values.empty()) return std::nullopt;
  return values.count("1") > 0;
}

}  // namespace

Check CheckGovernor(const Root& root, const std::string& hypervisor) {
  const std::set<std::string> governors =
      PolicyValues(root, "scaling_governor");
  if (governors.empty()) return SetElsewhere("governor", hypervisor);
  const std::string observed = absl::StrJoin(governors, ", ");
  if (observed == "performance") return Ok("governor", observed);
  return {"governor", CheckStatus::kWarn, observed,
          "the clock follows the load, so the first runs are slower",
          "echo performance | sudo tee "
          "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

Check CheckTurbo(const Root& root, const std::string& hypervisor) {
  const std::optional<int64_t> no_turbo =
      root.ReadInt("/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (no_turbo.has_value()) {
    if (*no_turbo != 0) return Ok("turbo", "off");
    return TurboIsOn(
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
  }
  const std::optional<bool> boost = BoostSwitch(root);
  if (!boost.has_value()) return SetElsewhere("turbo", hypervisor);
  if (!*boost) return Ok("turbo", "off");
  return TurboIsOn("echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
}

std::optional<int64_t> ReadThrottleCount(const Root& root) {
  std::optional<int64_t> sum;
  for (const std::string& cpu : root.List(kCpuFolder)) {
    if (!absl::StartsWith(cpu, "cpu")) continue;
    for (const char* name : {"core", "package"}) {
      const std::optional<int64_t> count = root.ReadInt(absl::StrCat(
          kCpuFolder, "/", cpu, "/thermal_throttle/", name, "_throttle_count"));
      // Garbled counters must not overflow the sum.
      if (count.value_or(-1) < 0 || *count > INT32_MAX) continue;
      sum = sum.value_or(0) + *count;
    }
  }
  return sum;
}

Check CheckThrottling(std::optional<int64_t> before,
                      std::optional<int64_t> after) {
  if (!before.has_value() || !after.has_value()) {
    return {"throttling", CheckStatus::kUnknown, "not counted by this machine",
            "heat slows the processors down, which shows in the times alone",
            "look at the temperature: sensors, or the host's own monitoring"};
  }
  if (*after == 0) return Ok("throttling", "never");
  const bool now = *after > *before;
  return {"throttling", now ? CheckStatus::kWarn : CheckStatus::kNote,
          absl::StrCat(*after, " times since the start",
                       now ? ", also just now" : ""),
          "heat slows the processors down",
          "improve the cooling, or lower the clock until it never happens"};
}

Check CheckPower(const Root& root) {
  const std::string folder = "/sys/class/power_supply";
  for (const std::string& name : root.List(folder)) {
    const std::string supply = absl::StrCat(folder, "/", name);
    // Batteries of mice and keyboards have the scope "Device".
    if (root.ReadText(supply + "/type") == "Battery" &&
        root.ReadText(supply + "/scope") != "Device" &&
        root.ReadText(supply + "/status") == "Discharging") {
      return {"power", CheckStatus::kWarn,
              absl::StrCat("on battery (", name, ")"),
              "a machine on battery saves power at the cost of speed",
              "plug it in"};
    }
  }
  return Ok("power", "not on battery");
}

Check CheckSmt(const Root& root, int threads_per_core) {
  const std::optional<int64_t> active =
      root.ReadInt("/sys/devices/system/cpu/smt/active");
  if (active.value_or(threads_per_core > 1) == 0) {
    return Ok("smt", "one thread a core");
  }
  return {"smt", CheckStatus::kNote,
          absl::StrCat(std::max(threads_per_core, 2), " threads a core"),
          "two threads on one core slow each other down",
          "use one thread of each core, or: echo off | sudo tee "
          "/sys/devices/system/cpu/smt/control"};
}

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
    return {"cpu_pressure", CheckStatus::kUnknown,
            "not measured by this kernel",
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

namespace {

// ADDR_NO_RANDOMIZE of sys/personality.h, set by `setarch -R`.
constexpr uint32_t kAddrNoRandomize = 0x0040000;

// Whether programs can read this clock without entering the kernel.
bool IsFastClock(const std::string& clock) {
  static const auto* const fast =
      new std::set<std::string>{"tsc",       "arch_sys_counter",
                                "kvm-clock", "hyperv_clocksource_tsc_page",
                                "timebase",  "riscv_clocksource"};
  return fast->count(clock) > 0;
}

bool IsAslrOffForThisProcess(const Root& root) {
  uint32_t personality;
  return absl::SimpleHexAtoi(root.ReadText("/proc/self/personality"),
                             &personality) &&
         (personality & kAddrNoRandomize) != 0;
}

}  // namespace

Check CheckSwap(const MemoryInfo& memory) {
  if (memory.total_bytes == 0) {
    return {"swap", CheckStatus::kUnknown, "/proc/meminfo is not readable",
            "memory that is written to disk takes milliseconds to come back",
            "mount /proc"};
  }
  if (memory.swap_bytes == 0) return Ok("swap", "none");
  const double gib = 1 << 30;
  return {"swap",
          memory.swap_used_bytes > 0 ? CheckStatus::kWarn : CheckStatus::kUsual,
          absl::StrFormat("%.1f GiB, %.1f GiB in use", memory.swap_bytes / gib,
                          memory.swap_used_bytes / gib),
          "memory that is written to disk takes milliseconds to come back",
          "sudo swapoff -a  # until the next start"};
}

Check CheckTransparentHugePages(const Root& root) {
  const std::string name = "transparent_huge_pages";
  const std::string enabled =
      root.ReadText("/sys/kernel/mm/transparent_hugepage/enabled");
  if (absl::StrContains(enabled, "[madvise]")) return Ok(name, "madvise");
  if (absl::StrContains(enabled, "[never]")) return Ok(name, "never");
  if (absl::StrContains(enabled, "[always]")) {
    return {name, CheckStatus::kUsual, "always",
            "the kernel merges pages while a program runs, so equal runs get "
            "different pages",
            "echo madvise | sudo tee "
            "/sys/kernel/mm/transparent_hugepage/enabled"};
  }
  if (root.Exists("/sys/kernel/mm")) return Ok(name, "not in this kernel");
  return {name, CheckStatus::kUnknown, "/sys/kernel/mm is not readable",
          "pages that are merged while a program runs change its speed",
          "mount /sys"};
}

Check CheckNumaBalancing(const Root& root, int numa_nodes) {
  if (numa_nodes <= 1) return Ok("numa_balancing", "one memory node");
  const std::optional<int64_t> on =
      root.ReadInt("/proc/sys/kernel/numa_balancing");
  const std::string why =
      "the kernel takes pages away for a moment to see who uses them, and "
      "moves them";
  if (!on.has_value()) {
    return {"numa_balancing", CheckStatus::kUnknown,
            "/proc/sys/kernel/numa_balancing is not readable", why,
            "mount /proc"};
  }
  if (*on == 0) return Ok("numa_balancing", "off");
  return {"numa_balancing", CheckStatus::kUsual, "on", why,
          "echo 0 | sudo tee /proc/sys/kernel/numa_balancing"};
}

Check CheckAslr(const Root& root) {
  const std::optional<int64_t> level =
      root.ReadInt("/proc/sys/kernel/randomize_va_space");
  const std::string why =
      "each start lays memory out differently, so caches collide differently";
  if (!level.has_value()) {
    return {"aslr", CheckStatus::kUnknown,
            "/proc/sys/kernel/randomize_va_space is not readable", why,
            "mount /proc"};
  }
  if (*level == 0) return Ok("aslr", "off");
  if (IsAslrOffForThisProcess(root)) {
    return Ok("aslr", "off for this process");
  }
  return {"aslr", CheckStatus::kUsual, absl::StrCat("on (", *level, ")"), why,
          "setarch -R COMMAND, or many starts of the program"};
}

Check CheckClockSource(const Root& root) {
  const std::string clock = root.ReadText(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string why = "reading the time takes a call into the kernel";
  if (clock.empty()) {
    return {"clock_source", CheckStatus::kUnknown, "not readable", why,
            "mount /sys"};
  }
  if (IsFastClock(clock)) return Ok("clock_source", clock);
  return {"clock_source", CheckStatus::kWarn, clock, why,
          "boot with clocksource=tsc tsc=reliable where the processor has a "
          "constant TSC"};
}

Check CheckVirtualMachine(const std::string& hypervisor) {
  if (hypervisor.empty()) return Ok("virtual_machine", "no");
  return {"virtual_machine", CheckStatus::kNote,
          hypervisor == "unknown" ? "yes" : hypervisor,
          "other guests share caches and memory bandwidth unseen",
          "run A and B alternately, or use a machine without a hypervisor"};
}

std::vector<Check> CheckTiming(const Root& root, absl::Duration sample,
                               const Sleeper& sleep) {
  const CpuInfo cpu = ReadCpu(root);
  const CgroupInfo cgroup = ReadCgroup(root);
  const std::string hypervisor = ReadHypervisor(root);
  const std::optional<int64_t> throttled_before = ReadThrottleCount(root);
  const LoadSample load = SampleLoad(root, sample, sleep);
  return {
      CheckGovernor(root, hypervisor),
      CheckTurbo(root, hypervisor),
      CheckThrottling(throttled_before, ReadThrottleCount(root)),
      CheckPower(root),
      CheckSmt(root, cpu.threads_per_core),
      CheckSteal(load),
      CheckRunQueue(load),
      CheckCpuPressure(load),
      CheckCpuQuota(cgroup, cpu),
      CheckAffinity(cgroup, cpu),
      CheckSwap(ReadMemory(root)),
      CheckTransparentHugePages(root),
      CheckNumaBalancing(root, cpu.numa_nodes),
      CheckAslr(root),
      CheckClockSource(root),
      CheckVirtualMachine(hypervisor),
  };
}

}  // namespace feedrate
