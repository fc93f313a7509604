// Checks that a campaign has correct rows for all the jobs that it must have.
//
//   bazel run //tools/check_coverage -- --coverage=full-paper $PWD/output
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/analysis/coverage/coverage.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/records/job.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/summary.pb.h"

DEFINE_string(coverage, "",
              "NAME: required jobs: a file with a coverage profile, or the "
              "name of a profile in configs/coverage {full-paper|ram-reduced}");
DEFINE_string(plan, "",
              "FILE: required job records, alone or in addition to a profile");
DEFINE_bool(require_optional_libraries, false,
            "also require optional libraries, such as dali");
DEFINE_int32(
    num_runs, 0,
    "N: runs required per job of the profile; 0 uses the number in its config");
DEFINE_string(machine_profile, "", "NAME: count only rows of this machine");
DEFINE_string(format, "table",
              "NAME: a table for people, or a coverage record {table|jsonl}");
DEFINE_string(output, "-", "FILE: where to write; - means standard output");
DEFINE_string(fix, "",
              "WHAT: instead of the report, print the jobs that would fill the "
              "gaps, or those with noisy runs {jobs|noisy}");
DEFINE_string(program, "",
              "NAME: with --fix, print only the jobs that this program runs");
DEFINE_int32(
    limit, 10,
    "N: maximum number of findings of each kind in the table; 0 means all");
DEFINE_string(
    configs, "",
    "FOLDER: folder that contains matrix.textproto and policy.textproto; by "
    "default it is searched for beside the program");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "check_coverage";
  info.summary = "find rows that are missing, failed, mixed up or implausible";
  info.usage = "--coverage=NAME|--plan=FILE [flags] [FILE|FOLDER|-...]";
  info.description =
      "Compares the rows in files, folders or standard input (-) with the\n"
      "jobs that a coverage profile or a plan requires. Writes a table or\n"
      "one coverage record to standard output. With --fix=jobs, writes the\n"
      "jobs that are still to run instead, and with --fix=noisy those whose\n"
      "runs were disturbed; the summary goes to standard error.\n"
      "Exit 0: complete, possibly with warnings; 3: not complete; 5: no rows\n"
      "at all.";
  info.examples = {
      "check_coverage --coverage=full-paper output/",
      "check_coverage --plan=jobs.jsonl rows.jsonl",
      "check_coverage --coverage=ram-reduced --num_runs=3 --fix=jobs output/ "
      "> jobs.jsonl",
  };
  info.reads_files = true;
  info.flag_files = {"tools/check_coverage/main.cc"};
  return info;
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  if (!FLAGS_fix.empty())
    RETURN_IF_ERROR(CheckChoice("--fix", FLAGS_fix, {"jobs", "noisy"}));
  if (!FLAGS_program.empty() && FLAGS_fix.empty()) {
    return absl::InvalidArgumentError(
        "--program: chooses among the jobs of --fix; add --fix=jobs or "
        "--fix=noisy");
  }
  if (!FLAGS_fix.empty() && FLAGS_format != "table") {
    return absl::InvalidArgumentError(
        "--fix: prints jobs in place of the record; leave out --format");
  }
  if (FLAGS_num_runs < 0) {
    return absl::InvalidArgumentError("--num_runs: use at least 0");
  }
  if (FLAGS_num_runs > 0 && FLAGS_coverage.empty()) {
    return absl::InvalidArgumentError(
        "--num_runs: a plan says itself how many; use it with --coverage");
  }
  if (FLAGS_limit < 0) {
    return absl::InvalidArgumentError("--limit: use at least 0");
  }
  return absl::OkStatus();
}

void Warn(const std::string& text) {
  std::cerr << "check_coverage: " << PrintableText(text) << "\n";
}

CoverageOptions OptionsFromFlags(const std::vector<std::string>& paths) {
  CoverageOptions options;
  options.coverage = FLAGS_coverage;
  options.plan = FLAGS_plan;
  options.require_optional_libraries = FLAGS_require_optional_libraries;
  options.num_runs = FLAGS_num_runs;
  options.machine_profile = FLAGS_machine_profile;
  options.configs_folder = FLAGS_configs;
  options.fix_noisy = FLAGS_fix == "noisy";
  options.program = FLAGS_program;
  options.paths = paths;
  options.warn = Warn;
  return options;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>& paths) {
  RETURN_IF_ERROR(CheckFlags());
  std::unique_ptr<NewFile> file;
  if (FLAGS_output != "-") {
    ASSIGN_OR_RETURN(file, NewFile::Create(FLAGS_output));
  }
  RecordWriter out(file == nullptr ? STDOUT_FILENO : file->fd(),
                   file == nullptr ? "standard output" : FLAGS_output,
                   RecordWriter::Flush::kWhenFull);
  CoverageOptions options = OptionsFromFlags(paths);
  if (!FLAGS_fix.empty()) {
    options.fix = [&out](const Job& job) { return out.Write(job); };
  }
  ASSIGN_OR_RETURN(const Coverage coverage, CheckCoverage(options));
  if (!FLAGS_fix.empty()) {
    Warn(CoverageSummary(coverage));
  } else if (FLAGS_format == "jsonl") {
    RETURN_IF_ERROR(out.Write(coverage));
  } else {
    RETURN_IF_ERROR(out.WriteText(CoverageText(coverage, FLAGS_limit)));
  }
  RETURN_IF_ERROR(out.Finish());
  if (file != nullptr) RETURN_IF_ERROR(file->Commit());
  if (coverage.verdict() == "nothing") return ExitCode::kInvalid;
  return coverage.verdict() == "complete" ? ExitCode::kDone
                                          : ExitCode::kCheckSaidNo;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
