// What a loader is told about its job.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_SPEC_H_
#define FEEDRATE_LIB_RUNNER_LOADER_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Whether the job measures a loader.
bool IsLoaderJob(const Job& job);

// The recipe and the loader of `job`, by the policy and the job's settings.
// What a run decides is the caller's: `source`, `on_error`, `ablation`.
// InvalidArgument names a setting that cannot be meant.
absl::StatusOr<LoaderSpec> LoaderSpecOfJob(const Catalogue& catalogue,
                                           const Job& job);

// How often an epoch is repeated.
struct EpochPolicy {
  double min_time_s = 0;
  int64_t min_batches = 1;
  // Share of the items that an epoch goes through.
  double sample_ratio = 1;
};
absl::StatusOr<EpochPolicy> EpochPolicyOfJob(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_SPEC_H_
