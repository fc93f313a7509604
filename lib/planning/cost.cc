#include "lib/planning/cost.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// Size of the ImageNet validation set and of a UCF101-like one: what "all"
// means where nobody has counted yet.
constexpr double kAllImages = 50000;
constexpr double kAllClips = 13320;
// A policy without an entry for the mode; a slow image transform.
constexpr double kFallbackItemsPerSecond = 100;

double ItemsOf(const Job& job, absl::string_view media) {
  if (job.num_items() > 0) return static_cast<double>(job.num_items());
  return media == "clip" ? kAllClips : kAllImages;
}

// Digits beyond a millisecond are noise in a record.
double Rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

}  // namespace

double CostModel::ItemsPerSecond(const Job& job,
                                 absl::string_view media) const {
  const absl::optional<double> published = published_.ItemsPerSecond(
      job.scenario(), job.mode(), job.device(), job.transform(), job.library());
  if (published.has_value() && *published > 0) return *published;
  for (const DefaultThroughput& entry : policy_.cost().default_throughput()) {
    if (entry.media() == media && entry.mode() == job.mode() &&
        entry.device() == job.device()) {
      return entry.items_per_s();
    }
  }
  return kFallbackItemsPerSecond;
}

double CostModel::Seconds(const Job& job, absl::string_view media,
                          const Execution& execution) const {
  if (job.has_unsupported_reason()) return 0;
  return Rounded(Estimate(job, media, execution));
}

double CostModel::Estimate(const Job& job, absl::string_view media,
                           const Execution& execution) const {
  const CostPolicy& cost = policy_.cost();
  const double per_item_s = 1 / ItemsPerSecond(job, media);
  const double items = ItemsOf(job, media);
  const double preflight_s =
      per_item_s * std::min<double>(items, execution.preflight_items());
  if (per_item_s >= execution.slow_threshold_s() &&
      !execution.disable_slow_skip()) {
    return cost.job_overhead_s() + preflight_s;
  }
  const double run_s = std::max(execution.min_time(),
                                cost.passes_per_run() * items * per_item_s);
  return cost.job_overhead_s() + preflight_s + run_s * job.run_indexes_size();
}

}  // namespace feedrate
