// feedrate's own mixture of data sets, to be measured beside others.
#ifndef FEEDRATE_LIB_LOADER_WORKER_NATIVE_MIXTURE_H_
#define FEEDRATE_LIB_LOADER_WORKER_NATIVE_MIXTURE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// Seconds that Stop waits before it ends anything, for tests of what a runner
// does about a teardown that hangs.
inline constexpr char kTeardownDelayVariable[] = "FEEDRATE_TEARDOWN_DELAY_S";

// An epoch of it leaves threads and files as they are after the last batch;
// Stop ends them. REQUIRES: spec.mixture, checked. `sources` outlive it.
absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareNativeMixture(
    const TransformSpec& spec, const std::vector<MixtureSource>& sources);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_WORKER_NATIVE_MIXTURE_H_
