#include "lib/measure/warm_up.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/measure/subject.h"

namespace feedrate {
namespace {

double MeanOfLast(const std::vector<double>& passes, size_t count) {
  count = std::min(count, passes.size());
  return std::accumulate(passes.end() - count, passes.end(), 0.0) /
         static_cast<double>(count);
}

bool IsStable(const WarmUpPolicy& policy, const std::vector<double>& passes) {
  const size_t window = policy.window;
  if (passes.size() < window * policy.min_windows) return false;
  const double all = MeanOfLast(passes, passes.size() - window);
  return std::abs(MeanOfLast(passes, window) - all) <=
         policy.stable_within * all;
}

// Whether the last readings of a GPU's clock are near each other. What has no
// clock is.
bool ClockIsStable(const WarmUpPolicy& policy,
                   const std::vector<int64_t>& clocks) {
  if (policy.clock_within == 0 || clocks.empty()) return true;
  const size_t window = std::min<size_t>(policy.window, clocks.size());
  const auto [low, high] =
      std::minmax_element(clocks.end() - window, clocks.end());
  return static_cast<double>(*high - *low) <=
         policy.clock_within * static_cast<double>(*high);
}

}  // namespace

absl::StatusOr<WarmUp> RunWarmUp(const WarmUpPolicy& policy, int64_t num_items,
                                 uint64_t seed, Subject* subject) {
  WarmUp warm_up;
  std::vector<double> passes;
  std::vector<int64_t> clocks;
  TimeRequest request;
  request.count =
      std::min(std::max(policy.subset_items, policy.chunk), num_items);
  request.chunk = policy.chunk;
  request.cold = policy.cold;
  request.seed = seed;
  request.hang_s = policy.hang_s;
  while (warm_up.passes < policy.max_passes && !warm_up.stable &&
         (warm_up.passes == 0 || warm_up.elapsed_s < policy.max_s)) {
    ASSIGN_OR_RETURN(const Timing timing, subject->Time(request));
    const double elapsed_s = ElapsedOf(timing);
    passes.push_back(elapsed_s / static_cast<double>(timing.items));
    warm_up.elapsed_s += elapsed_s;
    ++warm_up.passes;
    if (timing.gpu.has_value() && !timing.gpu->clocks_mhz.empty()) {
      clocks.push_back(timing.gpu->clocks_mhz.back());
    }
    warm_up.stable = IsStable(policy, passes) && ClockIsStable(policy, clocks);
  }
  warm_up.per_item_s = MeanOfLast(passes, policy.window);
  if (num_items <= request.count) return warm_up;
  request.count = num_items;
  request.limit_s = policy.max_s;
  request.hang_s += policy.max_s;
  for (int pass = 0; pass < policy.full_passes; ++pass) {
    ASSIGN_OR_RETURN(const Timing timing, subject->Time(request));
    warm_up.elapsed_s += ElapsedOf(timing);
  }
  return warm_up;
}

}  // namespace feedrate
