#include "lib/machine/load.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace {

// The run queue changes within milliseconds, so one look says little. More
// looks than this would themselves show in it.
constexpr int kLooks = 20;

struct StatReading {
  int64_t total_ticks = 0;
  std::optional<int64_t> steal_ticks;
  std::optional<int64_t> running;
};

// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`;
// guest time is part of user time and not added again.
void ParseCpuLine(absl::string_view line, StatReading* reading) {
  constexpr int kSteal = 7;
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() <= kSteal) return;
  int64_t total = 0;
  int64_t ticks = 0;
  for (int i = 0; i <= kSteal; ++i) {
    // Doubling the largest counter of a real machine stays far below this.
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
  // A kernel may set a counter back a little; that is no negative share.
  return std::max(0.0, static_cast<double>(steal) / total);
}

// The number between `prefix` and the next space of the first line.
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

}  // namespace feedrate
