// What a runner does, without its flags.
#ifndef FEEDRATE_LIB_RUNNER_RUN_H_
#define FEEDRATE_LIB_RUNNER_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/records/records.pb.h"
#include "lib/runner/job_list.h"
#include "lib/runner/remote_data.h"
#include "lib/runner/run_context.h"

namespace feedrate {

struct RunOptions {
  JobSource source;
  // Folder with matrix and policy. Empty: found.
  std::string configs_folder;
  RunLimits limits;
  // Carries on with what the output holds.
  bool resume = false;
  // Libraries whose program or environment is missing are left out, aloud.
  bool skip_missing = false;
  // Statuses of rows that make the run end in 3.
  std::vector<std::string> fail_on;
  // Compares outputs with the reference.
  bool equivalence = true;
  // Only compares, and prints the table of libraries and transforms.
  bool verify = false;
  // Of that table: `table` or `jsonl`.
  std::string verify_format = "table";
  // Of programs for clips.
  ClipTools clips;
  // Says where the time went, as the last line on standard error.
  bool account = false;
  // Of jobs that measure loaders.
  LoaderRunOptions loader;
  // Of programs that read data sets from stores. Null: a folder it must be.
  OpenRemoteData open_remote;
  // Of jobs that measure mixtures.
  MixtureRunOptions mixture;
  // Hears of the jobs in the order of the plan, before the first one runs;
  // rows come in another order. Optional.
  std::function<void(const std::vector<Job>&)> on_jobs;
  // Hears of each row that is written. Optional.
  std::function<void(const Row&)> on_row;
};

// Runs all jobs and writes their rows. InvalidArgument, NotFound and
// FailedPrecondition are the caller's to mend; nothing was measured then.
absl::StatusOr<ExitCode> RunJobs(const RunOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_RUN_H_
