#include "lib/machine/process_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// Returns the first whole number after `name` in `text`.
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

// Returns the fields of /proc/PID/stat from the third on; the second may
// contain spaces.
std::vector<std::string> StatFields(const std::string& stat) {
  const size_t end = stat.rfind(") ");
  if (end == std::string::npos) return {};
  return absl::StrSplit(stat.substr(end + 2), ' ');
}

// Reads CPU time from the process's clock, which counts nanoseconds; /proc
// counts ticks of 10 ms.
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

namespace {

// No loader has more. The limit ends the walk if the tree grows while it is
// read.
constexpr size_t kMaxProcesses = 1024;
// Enough for a process with thousands of libraries and threads.
constexpr size_t kMaxMapsBytes = size_t{64} << 20;

// Threads start processes too, and each thread has its own list.
void AddChildren(const Root& root, pid_t pid, std::vector<pid_t>* tree) {
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  for (const std::string& task : root.List(tasks)) {
    for (const absl::string_view word : absl::StrSplit(
             root.ReadText(absl::StrCat(tasks, "/", task, "/children")), ' ',
             absl::SkipEmpty())) {
      int child = 0;
      if (absl::SimpleAtoi(word, &child) && tree->size() < kMaxProcesses) {
        tree->push_back(child);
      }
    }
  }
}

// A mapping begins with a line such as `7f00-7f08 r--p 0000 fd:01 77
// /lib/x.so`; lines with counts have a colon in their first word.
bool BeginsMap(absl::string_view line) {
  const absl::string_view word = line.substr(0, line.find(' '));
  return absl::StrContains(word, '-') && !absl::EndsWith(word, ":");
}

// Parses a number of kilobytes after `name`.
bool Kilobytes(absl::string_view line, absl::string_view name,
               int64_t* number) {
  return absl::ConsumePrefix(&line, name) &&
         absl::SimpleAtoi(
             absl::StripSuffix(absl::StripAsciiWhitespace(line), " kB"),
             number);
}

struct MapBytes {
  int64_t pss = 0;
  int64_t own = 0;  // The part that no other process maps.
};

MapBytes BytesOfMaps(absl::string_view maps, absl::string_view left_out,
                     PssOf which) {
  // Linux has Pss_Dirty since 6.0.
  const bool written =
      which == PssOf::kWritten && absl::StrContains(maps, "\nPss_Dirty:");
  MapBytes bytes;
  bool counts = true;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    if (BeginsMap(line)) {
      counts = left_out.empty() || !absl::StrContains(line, left_out);
    }
    int64_t number = 0;
    if (!counts) continue;
    if (Kilobytes(line, written ? "Pss_Dirty:" : "Pss:", &number)) {
      bytes.pss += number * 1024;
    }
    if ((!written && Kilobytes(line, "Private_Clean:", &number)) ||
        Kilobytes(line, "Private_Dirty:", &number)) {
      bytes.own += number * 1024;
    }
  }
  return bytes;
}

}  // namespace

std::vector<pid_t> ProcessTree(const Root& root, pid_t pid) {
  std::vector<pid_t> tree = {pid};
  for (size_t at = 0; at < tree.size(); ++at)
    AddChildren(root, tree[at], &tree);
  return tree;
}

std::optional<int64_t> TreePssBytes(const Root& root, pid_t parent, pid_t pid,
                                    absl::string_view left_out, PssOf which) {
  std::vector<pid_t> ours = ProcessTree(root, pid);
  ours.push_back(parent);
  std::optional<int64_t> total;
  for (const pid_t member : ProcessTree(root, parent)) {
    const std::optional<std::string> maps =
        root.Read(absl::StrCat("/proc/", member, "/smaps"), kMaxMapsBytes);
    // A process that has ended since has no memory.
    if (!maps.has_value() || maps->empty()) continue;
    const MapBytes bytes = BytesOfMaps(*maps, left_out, which);
    const bool is_ours =
        std::find(ours.begin(), ours.end(), member) != ours.end();
    total = total.value_or(0) + bytes.pss - (is_ours ? 0 : bytes.own);
  }
  return total;
}

std::optional<ReadBytes> TreeReadBytes(const Root& root, pid_t pid) {
  std::optional<ReadBytes> total;
  for (const pid_t member : ProcessTree(root, pid)) {
    const std::string io = root.ReadText(absl::StrCat("/proc/", member, "/io"));
    for (absl::string_view line : absl::StrSplit(io, '\n')) {
      const bool is_calls = absl::ConsumePrefix(&line, "rchar: ");
      int64_t bytes = 0;
      if ((!is_calls && !absl::ConsumePrefix(&line, "read_bytes: ")) ||
          !absl::SimpleAtoi(line, &bytes)) {
        continue;
      }
      if (!total.has_value()) total.emplace();
      (is_calls ? total->calls : total->device) += bytes;
    }
  }
  return total;
}

namespace {

// Counting in the kernel needs privileges, and what is measured runs mostly in
// user space.
perf_event_attr UserCounter(uint64_t event) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = event;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return attributes;
}

UniqueFd OpenCounter(perf_event_attr* attributes, pid_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_perf_event_open, attributes, pid,
                                           -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::optional<int64_t> ReadCounter(const UniqueFd& counter) {
  int64_t count = 0;
  if (!counter.valid() ||
      read(counter.get(), &count, sizeof(count)) != sizeof(count)) {
    return std::nullopt;
  }
  return count;
}

}  // namespace

CycleCounter::CycleCounter(pid_t pid) {
  perf_event_attr attributes = UserCounter(PERF_COUNT_HW_CPU_CYCLES);
  counter_ = OpenCounter(&attributes, pid);
}

std::optional<int64_t> CycleCounter::Read() const {
  return ReadCounter(counter_);
}

InstructionCounter::InstructionCounter() {
  perf_event_attr attributes = UserCounter(PERF_COUNT_HW_INSTRUCTIONS);
  // This process does not count itself, because it executes no program.
  attributes.disabled = 1;
  attributes.enable_on_exec = 1;
  counter_ = OpenCounter(&attributes, 0);
}

std::optional<int64_t> InstructionCounter::Read() const {
  return ReadCounter(counter_);
}

}  // namespace feedrate
