#include "lib/runner/core/run_flags.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/config/override_flags.h"
#include "lib/records/attempts.h"

DEFINE_string(config, "", "FILE: run config to take the jobs from");
DEFINE_string(jobs, "-",
              "FILE: job records written by plan; - means standard input; with "
              "--config, run only those jobs of the config that are in FILE");
DEFINE_bool(resume, false,
            "continue with the rows in --output: skip what is already done on "
            "this machine with these library versions");
DEFINE_int32(retries, 0,
             "N: how often to retry a run that fails, crashes or hangs");
DEFINE_string(fail_on, "",
              "STATUSES: exit with 3 if a row has one of these statuses, such "
              "as failed,crashed,timeout,oom");
DEFINE_bool(skip_missing, false,
            "skip libraries whose worker or environment is missing, with a "
            "warning for each");
DEFINE_string(memory_limit, "",
              "SIZE: memory that a worker may use on top of what it needs at "
              "start, such as 2G; default: no limit");
DEFINE_double(timeout, 0,
              "SECONDS: kill a worker whose answer is overdue by more than "
              "this; 0 uses the policy's value");
DEFINE_string(lock_clocks, "",
              "MHZ: lock the clock of the GPU during the run, at this many MHz "
              "or at its highest (max); needs root; default: not locked");
DEFINE_bool(equivalence, true,
            "compare outputs with the reference, once per library version, "
            "parameters and data");
DEFINE_bool(verify, false,
            "only compare outputs with the reference, and print a table of "
            "libraries and transforms");
DEFINE_string(format, "",
              "NAME: what goes to standard output: a table at the end or "
              "records; default: table on a terminal and for --verify, else "
              "jsonl {table|jsonl}");
DEFINE_double(quiet_wait, -1,
              "SECONDS: time to wait in all for a machine on which nothing "
              "else runs; default: half of the time spent so far");
DEFINE_double(stable_within, -1,
              "SHARE: measure more runs than planned until the interval of the "
              "median is within this share of it, or as much time again is "
              "spent; 0 measures no run more than planned, disturbed or not; "
              "default: the policy's 0.05");
DEFINE_bool(profile_harness, false,
            "print where the time went, as the last line on standard error");
DEFINE_string(
    configs, "",
    "FOLDER: folder that contains matrix.textproto and policy.textproto; by "
    "default it is searched for above the config and beside the program");

namespace feedrate {
namespace {

// A larger value is probably a mistyped unit.
constexpr int64_t kMostMhz = 10000;

absl::StatusOr<std::vector<std::string>> FailOn() {
  const std::vector<std::string> words =
      absl::StrSplit(FLAGS_fail_on, ',', absl::SkipEmpty());
  for (const std::string& word : words) {
    bool known = false;
    for (const std::string& status : RowStatuses()) known |= status == word;
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--fail_on: \"", word, "\" is not a status",
                       DidYouMean(word, RowStatuses())));
    }
  }
  return words;
}

}  // namespace

absl::StatusOr<RunOptions> RunOptionsFromFlags(const std::string& tool) {
  RunOptions options;
  options.source.tool = tool;
  options.source.config = FLAGS_config;
  options.source.jobs = FLAGS_jobs;
  options.source.jobs_given =
      !gflags::GetCommandLineFlagInfoOrDie("jobs").is_default;
  options.source.overrides = OverridesFromFlags();
  options.configs_folder = FLAGS_configs;
  options.resume = FLAGS_resume;
  options.skip_missing = FLAGS_skip_missing;
  options.equivalence = FLAGS_equivalence;
  options.verify = FLAGS_verify;
  options.format = FLAGS_format;
  options.account = FLAGS_profile_harness;
  options.limits.retries = FLAGS_retries;
  options.limits.hang_s = FLAGS_timeout;
  options.limits.quiet_wait_s = FLAGS_quiet_wait;
  options.limits.stable_within = FLAGS_stable_within;
  ASSIGN_OR_RETURN(options.fail_on, FailOn());
  if (!FLAGS_memory_limit.empty()) {
    ASSIGN_OR_RETURN(options.limits.memory_bytes,
                     SizeOfFlag("--memory_limit", FLAGS_memory_limit, 1));
  }
  if (!(FLAGS_quiet_wait >= 0 || FLAGS_quiet_wait == -1) ||
      !(FLAGS_stable_within >= 0 || FLAGS_stable_within == -1)) {
    return absl::InvalidArgumentError(
        "--quiet_wait and --stable_within must be at least 0");
  }
  if (!FLAGS_lock_clocks.empty()) {
    int64_t mhz = 0;
    if (FLAGS_lock_clocks != "max" &&
        (!absl::SimpleAtoi(FLAGS_lock_clocks, &mhz) || mhz < 1 ||
         mhz > kMostMhz)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lock_clocks: \"", FLAGS_lock_clocks,
                       "\" is neither max nor a number of MHz"));
    }
    options.lock_clocks_mhz = mhz;
  }
  if (FLAGS_retries < 0 || FLAGS_timeout < 0) {
    return absl::InvalidArgumentError(
        "--retries and --timeout must be at least 0");
  }
  if (!FLAGS_format.empty()) {
    RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  }
  return options;
}

}  // namespace feedrate
