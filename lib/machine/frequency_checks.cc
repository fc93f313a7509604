#include "lib/machine/frequency_checks.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace feedrate {
namespace {

constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// Distinct values of a file over all groups of processors that share a clock.
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
    return {std::move(name), CheckStatus::kNote, "not visible",
            "the firmware sets the clock and this kernel does not show how",
            "look at the firmware's power settings"};
  }
  return {std::move(name), CheckStatus::kNote, "not visible in this guest",
          "the host sets the clock, and may change it at any time",
          "compare A and B in turns, so that the clock hits both alike"};
}

Check TurboIsOn(absl::string_view command) {
  return {"turbo", CheckStatus::kWarn, "on",
          "the clock depends on heat and on how many processors are busy",
          absl::StrCat(command, "  # until the next start")};
}

// Nothing when the machine has no such switch.
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
    return Ok("throttling", "not counted by this machine");
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

}  // namespace feedrate
