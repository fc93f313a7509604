// What the jobs of one run share.
#ifndef FEEDRATE_LIB_RUNNER_RUN_CONTEXT_H_
#define FEEDRATE_LIB_RUNNER_RUN_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/run_config.pb.h"
#include "lib/measure/subject.h"
#include "lib/media/video/clips.h"
#include "lib/runner/copy_limit.h"
#include "lib/runner/done_runs.h"
#include "lib/runner/equivalence_check.h"
#include "lib/runner/input_corpora.h"
#include "lib/runner/loader_inputs.h"
#include "lib/runner/loader_limits.h"
#include "lib/runner/mixture/mixture_inputs.h"
#include "lib/runner/mixture/mixture_options.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/row_output.h"
#include "lib/runner/server_pool.h"
#include "lib/runner/time_account.h"

namespace feedrate {

// Limits that flags set.
struct RunLimits {
  // Tries beyond the first for what failed.
  int retries = 0;
  // 0: no limit.
  int64_t memory_bytes = 0;
  // How late an answer may be. 0: as the policy says.
  double hang_s = 0;
};

// What a program can do that has FFmpeg; nothing for others.
struct ClipTools {
  ClipLoader load;
  ClipLimit limit;
};

// What flags say about loaders.
struct LoaderRunOptions {
  // Files are forgotten by the kernel before each epoch.
  bool cold = false;
  // Of the training step that is played after each batch.
  double consumer_s = 0;
  // `skip` or `fail`.
  std::string on_error = "skip";
  // Epochs with parts left out, and a verdict.
  bool diagnose = false;
  // One epoch with one worker, to hold the others against.
  bool worker_efficiency = true;
  // The same with one connection, for data in a store.
  bool connection_efficiency = true;
};

// Everything outlives the run.
struct RunContext {
  const Catalogue& catalogue;
  const Execution& execution;
  const RunLimits limits;
  const RunIdentity identity;
  ServerPool* const servers;
  InputCorpora* const corpora;
  const DoneRuns* const done;
  RowOutput* const output;
  NoiseWatch* const noise;
  TimeAccount* const account;
  // Null: equivalence is not looked at.
  EquivalenceCheck* const equivalence;
  CopyLimit* const copy_limit;
  const LoaderRunOptions loader;
  LoaderInputs* const loader_inputs;
  LoaderLimits* const loader_limits;
  const ClipTools& clips;
  const MixtureRunOptions mixture;
  MixtureInputs* const mixture_inputs;
};

// How long a process may take to make itself ready.
inline absl::Duration PrepareLimit(const RunContext& context) {
  return absl::Seconds(
      context.limits.hang_s > 0
          ? context.limits.hang_s
          : context.catalogue.policy().measuring().prepare_limit_s());
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_RUN_CONTEXT_H_
