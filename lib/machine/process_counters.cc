#include "lib/machine/process_counters.h"

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

// The first whole number after `name` in a text of such lines.
std::optional<int64_t> NumberAfter(absl::string_view text,
                                   absl::string_view name) {
  const size_t at = text.find(name);
  if (at == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  const size_t start = text.find_first_of("0123456789");
  if (start == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  int64_t number;
  if (!absl::SimpleAtoi(text.substr(0, text.find_first_of(" \n\t")), &number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<int64_t> KilobytesAfter(absl::string_view text,
                                      absl::string_view name) {
  const std::optional<int64_t> number = NumberAfter(text, name);
  if (!number.has_value()) return std::nullopt;
  return *number * 1024;
}

// The fields of /proc/PID/stat from the third on; the second may hold spaces.
std::vector<std::string> StatFields(const std::string& stat) {
  const size_t end = stat.rfind(") ");
  if (end == std::string::npos) return {};
  return absl::StrSplit(stat.substr(end + 2), ' ');
}

// Processor time by its clock, which counts nanoseconds where /proc counts
// ticks of 10 ms.
std::optional<double> CpuSeconds(const Root& root, pid_t pid,
                                 const std::vector<std::string>& stat) {
  clockid_t clock;
  timespec now;
  if (root.is_live() && clock_getcpuclockid(pid, &clock) == 0 &&
      clock_gettime(clock, &now) == 0) {
    return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
  }
  int64_t user, system;
  if (stat.size() < 13 || !absl::SimpleAtoi(stat[11], &user) ||
      !absl::SimpleAtoi(stat[12], &system)) {
    return std::nullopt;
  }
  return static_cast<double>(user + system) / sysconf(_SC_CLK_TCK);
}

}  // namespace

ProcessCounters ReadProcessCounters(const Root& root, pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid, "/");
  ProcessCounters counters;
  const std::vector<std::string> stat =
      StatFields(root.ReadText(folder + "stat"));
  counters.cpu_s = CpuSeconds(root, pid, stat);
  int64_t faults;
  if (stat.size() > 9 && absl::SimpleAtoi(stat[9], &faults)) {
    counters.major_faults = faults;
  }
  const std::vector<std::string> schedstat =
      absl::StrSplit(root.ReadText(folder + "schedstat"), ' ');
  int64_t delay_ns;
  if (schedstat.size() > 1 && absl::SimpleAtoi(schedstat[1], &delay_ns)) {
    counters.run_delay_s = 1e-9 * delay_ns;
  }
  const std::string status = root.ReadText(folder + "status");
  counters.involuntary_switches =
      NumberAfter(status, "nonvoluntary_ctxt_switches:");
  counters.rss_peak_bytes = KilobytesAfter(status, "VmHWM:");
  if (counters.rss_peak_bytes.has_value()) {
    *counters.rss_peak_bytes -= KilobytesAfter(status, "RssShmem:").value_or(0);
  }
  counters.migrations =
      NumberAfter(root.ReadText(folder + "sched"), "nr_migrations");
  return counters;
}

ProcessorCounters ReadProcessorCounters(const Root& root) {
  ProcessorCounters counters;
  const double tick_s = 1.0 / sysconf(_SC_CLK_TCK);
  const std::string stat = root.ReadText("/proc/stat");
  for (absl::string_view line : absl::StrSplit(stat, '\n')) {
    if (!absl::StartsWith(line, "cpu")) break;
    if (!absl::ConsumePrefix(&line, "cpu ")) {
      ++counters.processors;
      continue;
    }
    // user nice system idle iowait irq softirq steal
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t ticks[8] = {};
    bool whole = words.size() >= 8;
    for (int i = 0; whole && i < 8; ++i) {
      whole = absl::SimpleAtoi(words[i], &ticks[i]);
    }
    if (!whole) continue;
    counters.steal_s = tick_s * ticks[7];
    counters.busy_s =
        tick_s * (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]);
  }
  return counters;
}

}  // namespace feedrate
