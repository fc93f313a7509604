// The policy's numbers as lib/measure wants them.
#ifndef FEEDRATE_LIB_RUNNER_MEASURE_POLICY_H_
#define FEEDRATE_LIB_RUNNER_MEASURE_POLICY_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/records.pb.h"
#include "lib/runner/gpu_settings.h"

namespace feedrate {

struct JobPolicy {
  // What one item is.
  std::string unit;
  PreflightPolicy preflight;
  WarmUpPolicy warm_up;
  ChunkPolicy chunk;
  // On a GPU.
  GpuSettings gpu;
};

// For a job of `catalogue`. What `execution` says (thresholds of a config) goes
// before the policy. `hang_s` above 0 replaces the policy's.
absl::StatusOr<JobPolicy> JobPolicyOf(const Catalogue& catalogue,
                                      const Execution& execution,
                                      const Job& job, double hang_s);

NoisePolicy NoisePolicyOf(const MeasuringPolicy& policy);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MEASURE_POLICY_H_
