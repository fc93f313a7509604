#include "lib/media/fits_memory.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"

namespace feedrate {

int64_t MemoryToUse() {
  return ReadAvailableMemory(Root()).value_or(
      std::numeric_limits<int64_t>::max());
}

absl::Status CheckFitsMemory(absl::string_view what,
                             const std::vector<int64_t>& item_bytes,
                             int64_t available) {
  const int64_t usable = available - kSpareMemory;
  int64_t total = 0;
  int64_t fitting = 0;
  for (int64_t bytes : item_bytes) {
    total += bytes;
    if (total <= usable) ++fitting;
  }
  const int64_t items = static_cast<int64_t>(item_bytes.size());
  if (fitting == items) return absl::OkStatus();
  constexpr double kMiB = 1 << 20;
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: %d decoded items take %.0f MiB of memory and %.0f MiB are "
      "available; %s",
      what, items, total / kMiB, available / kMiB,
      fitting > 0
          ? absl::StrFormat("num_items=%d is the most that fits", fitting)
          : "not even one of them fits"));
}

}  // namespace feedrate
