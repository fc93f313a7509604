// The run loop of all programs that measure jobs, without their flags.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_list.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/runner/data/remote_data.h"

namespace feedrate {

struct RunOptions {
  // What the program can measure. Each object serves one run.
  std::vector<std::shared_ptr<JobMode>> modes;
  JobSource source;
  // Jobs that are loaded already, instead of those of `source`.
  std::optional<JobList> list;
  // Folder with matrix and policy. Empty means that it is searched for.
  std::string configs_folder;
  RunLimits limits;
  // Continues with the rows that the output holds.
  bool resume = false;
  // Whether runs are cold, in programs whose rows depend on the page cache: the
  // others are not done for `resume`.
  std::optional<bool> cold;
  // Measures runs again that the output holds.
  bool repeat = false;
  // Skips libraries whose worker or environment is missing, with a warning for
  // each.
  bool skip_missing = false;
  // Row statuses that make the program exit with 3.
  std::vector<std::string> fail_on;
  // Compares outputs with the reference.
  bool equivalence = true;
  // Only compares outputs, and prints a table of libraries and transforms.
  bool verify = false;
  // Audits the jobs instead of measuring them.
  bool audit = false;
  // `table` or `jsonl`. A table of the jobs follows the last row on standard
  // output, which then gets no records. Empty means `table` for `verify`, and
  // for rows if standard output is a terminal.
  std::string format;
  // Locks the GPU's clock for the run, at this many MHz; 0 means the highest.
  std::optional<int64_t> lock_clocks_mhz;
  // Set by programs that measure clips.
  ClipTools clips;
  // Prints where the time went, as the last line on standard error.
  bool account = false;
  // Set by programs that read data sets from stores. Null means that the data
  // set must be a local folder.
  OpenRemoteData open_remote;
  // Where batch records of mixtures go. Empty means beside the rows.
  std::string batches;
  // Called with the jobs in the order of the plan, before the first one runs;
  // rows come in another order. May be null.
  std::function<void(const std::vector<Job>&)> on_jobs;
  // Called after each row is written. May be null.
  std::function<void(const Row&)> on_row;
  // Returns text for standard error, printed before the last line. May be null.
  std::function<std::string()> report;
};

// Runs all jobs and writes their rows. InvalidArgument, NotFound and
// FailedPrecondition are mistakes that the caller can fix; nothing was measured
// then.
absl::StatusOr<ExitCode> RunJobs(const RunOptions& options);

// Calls RunJobs, which prints on standard error before its last line the
// `text_of` each row, in the order of the rows, and the `summary` of all rows,
// which it gets without samples_s. Replaces `options.on_row` and
// `options.report`.
absl::StatusOr<ExitCode> RunAndSummarize(
    RunOptions options, const std::function<std::string(const Row&)>& text_of,
    const std::function<std::string(const std::vector<Row>&)>& summary);

}  // namespace feedrate
