#include "lib/runner/core/run_flags.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "lib/base/override_flags.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/runner/core/run.h"

DEFINE_string(config, "", "FILE: run config to plan from");
DEFINE_string(
    jobs, "-",
    "FILE: jobs as plan writes them, - is standard input; with --config "
    "only those of its jobs");
DEFINE_bool(resume, false,
            "Carry on with the rows in --output: skip what is done on this "
            "machine with these library versions");
DEFINE_int32(retries, 0, "N: more tries for rows that fail, crash or hang");
DEFINE_string(fail_on, "",
              "STATUSES: exit with 3 when a row has one of them, such as "
              "failed,crashed,timeout,oom");
DEFINE_bool(skip_missing, false,
            "Leave out libraries whose program or environment is missing");
DEFINE_string(memory_limit, "",
              "SIZE: memory that a measured process may take beyond what it "
              "starts with, such as 2G; no limit without it");
DEFINE_double(timeout, 0,
              "SECONDS: how late an answer may be before a process is killed; "
              "as the policy says without it");
DEFINE_bool(equivalence, true,
            "Compare outputs with the reference, once for each library "
            "version, parameters and data");
DEFINE_bool(verify, false,
            "Only compare outputs with the reference, and print the table of "
            "libraries and transforms");
DEFINE_string(format, "table", "NAME: form of --verify {table|jsonl}");
DEFINE_bool(profile_harness, false,
            "Say where the time went, as the last line on standard error");
DEFINE_string(configs, "",
              "FOLDER: where matrix.textproto and policy.textproto are; found "
              "by itself above the config or beside the program");

namespace feedrate {
namespace {

const std::vector<std::string>& Statuses() {
  static const auto* const statuses = new std::vector<std::string>{
      "ok",      "early_stopped", "unsupported", "failed",
      "crashed", "timeout",       "oom"};
  return *statuses;
}

absl::StatusOr<std::vector<std::string>> FailOn() {
  const std::vector<std::string> words =
      absl::StrSplit(FLAGS_fail_on, ',', absl::SkipEmpty());
  for (const std::string& word : words) {
    bool known = false;
    for (const std::string& status : Statuses()) known |= status == word;
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--fail_on: \"", word, "\" is no status",
                       DidYouMean(word, Statuses())));
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
  options.source.overrides = OverridesFromFlags();
  options.configs_folder = FLAGS_configs;
  options.resume = FLAGS_resume;
  options.skip_missing = FLAGS_skip_missing;
  options.equivalence = FLAGS_equivalence;
  options.verify = FLAGS_verify;
  options.verify_format = FLAGS_format;
  options.account = FLAGS_profile_harness;
  options.limits.retries = FLAGS_retries;
  options.limits.hang_s = FLAGS_timeout;
  ASSIGN_OR_RETURN(options.fail_on, FailOn());
  if (!FLAGS_memory_limit.empty()) {
    ASSIGN_OR_RETURN(options.limits.memory_bytes,
                     SizeOfFlag("--memory_limit", FLAGS_memory_limit, 1));
  }
  if (FLAGS_retries < 0 || FLAGS_timeout < 0) {
    return absl::InvalidArgumentError(
        "--retries and --timeout must be at least 0");
  }
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  return options;
}

}  // namespace feedrate
