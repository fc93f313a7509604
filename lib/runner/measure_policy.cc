#include "lib/runner/measure_policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// The most telling entry: one for the library, else for the media, else any.
const WarmupPolicy* FindWarmUp(const Policy& policy, const Job& job,
                               const std::string& media) {
  const WarmupPolicy* best = nullptr;
  int best_score = -1;
  for (const WarmupPolicy& entry : policy.warmup()) {
    if (entry.mode() != job.mode()) continue;
    if (entry.has_media() && entry.media() != media) continue;
    if (entry.has_library() && entry.library() != job.library()) continue;
    const int score = 2 * entry.has_library() + entry.has_media();
    if (score <= best_score) continue;
    best = &entry;
    best_score = score;
  }
  return best;
}

PreflightPolicy PreflightOf(const MediaPolicy& media,
                            const Execution& execution) {
  PreflightPolicy policy;
  policy.items = execution.has_preflight_items() ? execution.preflight_items()
                                                 : media.preflight_items();
  policy.passes = media.preflight_passes();
  policy.slow_threshold_s = execution.has_slow_threshold_s()
                                ? execution.slow_threshold_s()
                                : media.slow_threshold_s();
  policy.max_s = media.max_preflight_s();
  policy.slow_skip = media.slow_skip() && !execution.disable_slow_skip();
  return policy;
}

WarmUpPolicy WarmUpOf(const WarmupPolicy& entry) {
  WarmUpPolicy policy;
  policy.subset_items = entry.subset_items();
  policy.window = entry.window();
  policy.min_windows = entry.min_windows();
  policy.max_passes = entry.max_iterations();
  policy.stable_within = entry.stable_within();
  policy.full_passes = entry.passes();
  policy.max_s = entry.has_max_s() ? entry.max_s()
                                   : std::numeric_limits<double>::infinity();
  return policy;
}

// Samples of many calls; and the clock has to settle too.
void SetGpuPolicy(const GpuMeasuringPolicy& gpu, JobPolicy* policy) {
  const int64_t chunk =
      policy->gpu.batch > 0 ? policy->gpu.batch : gpu.calls_per_sample();
  policy->chunk.fixed = chunk;
  policy->chunk.min_samples = gpu.min_samples();
  policy->preflight.chunk = chunk;
  policy->warm_up.chunk = chunk;
  policy->warm_up.cold = policy->gpu.cold;
  policy->warm_up.clock_within = gpu.clock_within();
  policy->warm_up.max_s = std::max(policy->warm_up.max_s, gpu.max_warm_up_s());
}

}  // namespace

absl::StatusOr<JobPolicy> JobPolicyOf(const Catalogue& catalogue,
                                      const Execution& execution,
                                      const Job& job, double hang_s) {
  const Policy& policy = catalogue.policy();
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const MediaPolicy* media =
      scenario == nullptr ? nullptr : catalogue.FindMedia(scenario->media());
  const WarmupPolicy* warm_up =
      media == nullptr ? nullptr : FindWarmUp(policy, job, media->media());
  if (warm_up == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the policy has no warm-up for scenario \"",
                     job.scenario(), "\" in mode \"", job.mode(), "\""));
  }
  JobPolicy result;
  result.unit = media->media();
  result.preflight = PreflightOf(*media, execution);
  result.warm_up = WarmUpOf(*warm_up);
  result.warm_up.hang_s = hang_s > 0 ? hang_s : policy.measuring().hang_s();
  // One that stops by itself at its limit is slow, not hanging.
  result.preflight.hang_s =
      hang_s > 0 ? hang_s : result.preflight.max_s + result.warm_up.hang_s;
  result.chunk.chunk_below_s = policy.measuring().chunk_below_s();
  result.chunk.max_clock_share = policy.measuring().max_clock_share();
  if (OnGpu(job)) {
    ASSIGN_OR_RETURN(result.gpu, GpuSettingsOf(job));
    SetGpuPolicy(policy.measuring().gpu(), &result);
  }
  return result;
}

NoisePolicy NoisePolicyOf(const MeasuringPolicy& policy) {
  NoisePolicy noise;
  noise.contended_share = policy.contended_share();
  noise.noisy_share = policy.noisy_share();
  noise.min_wait_s = policy.min_wait_s();
  noise.others_share = policy.others_share();
  noise.multithreaded_cores = policy.multithreaded_cores();
  noise.throttled_clock = policy.throttled_clock();
  noise.migrations_per_s = policy.migrations_per_s();
  noise.min_s = policy.min_judged_s();
  return noise;
}

}  // namespace feedrate
