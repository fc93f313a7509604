#include "lib/measure/preflight.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/measure/subject.h"

namespace feedrate {

absl::StatusOr<Preflight> RunPreflight(const PreflightPolicy& policy,
                                       int64_t num_items, uint64_t seed,
                                       const std::string& unit,
                                       Subject* subject) {
  Preflight seen;
  for (int pass = 0; pass < policy.passes; ++pass) {
    TimeRequest request;
    request.count = std::min(std::max(policy.items, policy.chunk), num_items);
    request.chunk = policy.chunk;
    request.seed = seed;
    request.limit_s = std::max(policy.max_s - seen.elapsed_s, 1e-9);
    request.hang_s = policy.hang_s;
    ASSIGN_OR_RETURN(const Timing timing, subject->Time(request));
    seen.elapsed_s += ElapsedOf(timing);
    seen.items += timing.items;
    if (seen.elapsed_s > policy.max_s) break;
  }
  seen.per_item_s =
      seen.elapsed_s / static_cast<double>(std::max<int64_t>(seen.items, 1));
  const bool too_long = seen.elapsed_s > policy.max_s;
  const bool slow = seen.per_item_s >= policy.slow_threshold_s;
  seen.stops_early = policy.slow_skip && (too_long || slow);
  if (seen.stops_early) {
    seen.reason = absl::StrFormat(
        "%.3g s per %s over %d in the preflight; %s", seen.per_item_s, unit,
        seen.items,
        slow ? absl::StrFormat("from %.3g s on it counts as slow",
                               policy.slow_threshold_s)
             : absl::StrFormat("it took more than %.3g s", policy.max_s));
  }
  return seen;
}

}  // namespace feedrate
