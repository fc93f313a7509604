#include "lib/machine/kernel_checks.h"

#include <cstdint>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

// ADDR_NO_RANDOMIZE of sys/personality.h, set by `setarch -R`.
constexpr uint32_t kAddrNoRandomize = 0x0040000;

// Clocks that a program reads without entering the kernel.
bool IsFastClock(const std::string& clock) {
  static const auto* const fast =
      new std::set<std::string>{"tsc",       "arch_sys_counter",
                                "kvm-clock", "hyperv_clocksource_tsc_page",
                                "timebase",  "riscv_clocksource"};
  return fast->count(clock) > 0;
}

bool RandomisationSwitchedOffForUs(const Root& root) {
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
  return {"swap", CheckStatus::kWarn,
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
    return {name, CheckStatus::kWarn, "always",
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
  if (on.value_or(0) == 0) return Ok("numa_balancing", "off");
  return {"numa_balancing", CheckStatus::kWarn, "on",
          "the kernel takes pages away for a moment to see who uses them, and "
          "moves them",
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
  if (RandomisationSwitchedOffForUs(root)) {
    return Ok("aslr", "off for this process");
  }
  return {"aslr", CheckStatus::kWarn, absl::StrCat("on (", *level, ")"), why,
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
          "compare A and B in turns, or use a machine without a hypervisor"};
}

}  // namespace feedrate
