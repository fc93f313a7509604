#include "lib/machine/cpu_list.h"

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace feedrate {
namespace {

// Above what any kernel is built for (CONFIG_NR_CPUS is 8192 at most), so that
// a garbled file cannot ask for gigabytes.
constexpr int kMaxCpu = 65535;

bool ParseRange(absl::string_view text, int* first, int* last) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, '-');
  if (ends.size() > 2) return false;
  return absl::SimpleAtoi(ends.front(), first) &&
         absl::SimpleAtoi(ends.back(), last) && *first >= 0 &&
         *first <= *last && *last <= kMaxCpu;
}

}  // namespace

std::vector<int> ParseCpuList(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return {};
  std::set<int> cpus;
  for (absl::string_view range : absl::StrSplit(text, ',')) {
    int first, last;
    if (!ParseRange(range, &first, &last)) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

}  // namespace feedrate
