#include "lib/machine/memory.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/machine/sizes.h"

namespace feedrate {

MemoryInfo ReadMemory(const Root& root) {
  const std::string meminfo = root.Read("/proc/meminfo").value_or("");
  MemoryInfo memory;
  int64_t swap_free_bytes = 0;
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    int64_t* value = nullptr;
    if (absl::ConsumePrefix(&line, "MemTotal:")) value = &memory.total_bytes;
    if (absl::ConsumePrefix(&line, "SwapTotal:")) value = &memory.swap_bytes;
    if (absl::ConsumePrefix(&line, "SwapFree:")) value = &swap_free_bytes;
    if (value != nullptr) *value = ParseSize(line).value_or(0);
  }
  memory.swap_used_bytes =
      std::max<int64_t>(memory.swap_bytes - swap_free_bytes, 0);
  return memory;
}

}  // namespace feedrate
