// Measures one transform at a time on decoded images, one thread, for each
// library.
//
//   bazel run //tools/micro -- --config=$PWD/configs/demo.textproto
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "lib/base/choice.h"
#include "lib/base/did_you_mean.h"
#include "lib/base/exit_code.h"
#include "lib/base/override_flags.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_main.h"
#include "lib/machine/sizes.h"
#include "lib/runner/run.h"

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

ToolInfo Info() {
  ToolInfo info;
  info.name = "micro";
  info.summary = "measure one transform at a time on decoded images";
  info.usage = "[--config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Takes jobs from standard input, --jobs or --config, and writes env, "
      "run\n"
      "and row records: one row for each run of each transform of each "
      "library.\n"
      "Every library gets the same decoded images from shared memory and runs\n"
      "in a process of its own, on one thread; what it does wrong is a row "
      "with\n"
      "its reason, and the next job runs. Outputs are compared with a\n"
      "reference, so that a row says whether it did the same work.";
  info.examples = {
      "micro --config=configs/demo.textproto",
      "plan --config=configs/paper/prod_c4_rgb_micro_cpu.textproto | micro "
      "--dataset=val --output=rows.jsonl",
      "micro --config=configs/demo.textproto --output=rows.jsonl --resume",
      "micro --config=configs/demo.textproto --verify",
  };
  info.flag_files = {"tools/micro/main.cc", kOverrideFlagsFile};
  return info;
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

absl::StatusOr<RunOptions> OptionsFromFlags() {
  RunOptions options;
  options.source.tool = "micro";
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
    const std::optional<int64_t> bytes = ParseSize(FLAGS_memory_limit);
    if (!bytes.has_value() || *bytes <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--memory_limit: \"", FLAGS_memory_limit,
                       "\" is no size; write it as 500M or 2G"));
    }
    options.limits.memory_bytes = *bytes;
  }
  if (FLAGS_retries < 0 || FLAGS_timeout < 0) {
    return absl::InvalidArgumentError(
        "--retries and --timeout must be at least 0");
  }
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  return options;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(const RunOptions options, OptionsFromFlags());
  return RunJobs(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
