// Describes this machine, and what makes timings unreliable on it.
//
//   bazel run //tools/collect_env -- --print=profile
//   bazel run //tools/collect_env -- --check
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/environment/env_record.h"
#include "lib/machine/machine.h"
#include "lib/machine/timing_checks.h"
#include "lib/records/json.h"
#include "tools/collect_env/check_report.h"

DEFINE_bool(check, false,
            "list what makes timings unreliable here, with a remedy for each");
DEFINE_string(format, "",
              "NAME: output format of --check, by default table {table|jsonl}");
DEFINE_string(ignore, "",
              "NAMES: checks to leave out, separated by commas, such as "
              "governor,turbo");
DEFINE_string(nvml_library, "",
              "FILE: NVIDIA's management library, if the dynamic linker does "
              "not find it; `none` does not look for GPUs");
DEFINE_string(output, "-",
              "FILE: where to write; - means standard output; a folder gets "
              "the file env.jsonl");
DEFINE_string(print, "record",
              "WHAT: print the whole record, or one string from it "
              "{record|profile|env_id}");
DEFINE_string(root, "/",
              "FOLDER: describe the machine whose /proc, /sys and /etc were "
              "copied to this folder");
DEFINE_double(
    sample_s, 0.5,
    "SECONDS: how long --check observes steal time and the run queue");

namespace feedrate {
namespace {

// A larger value is probably a mistyped unit.
constexpr double kMaxSampleS = 600;

ToolInfo Info() {
  ToolInfo info;
  info.name = "collect_env";
  info.summary =
      "describe this machine and check whether its timings are reliable";
  info.usage = "[flags]";
  info.description =
      "Writes one env record: processors, memory, control group limits,\n"
      "NVIDIA GPUs, kernel, library versions and git state. Its profile and\n"
      "env_id stay the same from run to run on one machine.\n"
      "With --check, lists what makes timings unreliable instead. Exit 0:\n"
      "nothing does; 3: something does; 4: a check cannot see what it needs.\n"
      "What is usual, such as ASLR, is listed and does not count.";
  info.examples = {"collect_env", "collect_env --print=profile",
                   "collect_env --check"};
  info.flag_files = {"tools/collect_env/main.cc"};
  return info;
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(
      CheckChoice("--print", FLAGS_print, {"record", "profile", "env_id"}));
  if (!FLAGS_format.empty()) {
    RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  }
  if (FLAGS_check && FLAGS_print != "record") {
    return absl::InvalidArgumentError(
        "--print does not go with --check; leave one of them out");
  }
  if (!FLAGS_check && !FLAGS_ignore.empty()) {
    return absl::InvalidArgumentError("--ignore goes with --check alone");
  }
  if (!FLAGS_check && FLAGS_format == "table") {
    return absl::InvalidArgumentError(
        "--format=table goes with --check alone; a record is always jsonl");
  }
  if (!(FLAGS_sample_s >= 0 && FLAGS_sample_s <= kMaxSampleS)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sample_s: ", FLAGS_sample_s, " is not between 0 and ",
                     kMaxSampleS, " seconds"));
  }
  if (!IsFolder(FLAGS_root)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--root: ", FLAGS_root, " is not a folder; give one with /proc in it"));
  }
  return absl::OkStatus();
}

MachineSource Source() {
  MachineSource source =
      Root(FLAGS_root).is_live() ? ThisMachine() : MachineBelow(FLAGS_root);
  if (FLAGS_nvml_library == "none") {
    source.nvml_libraries.clear();
  } else if (!FLAGS_nvml_library.empty()) {
    source.nvml_libraries = {FLAGS_nvml_library};
  }
  // Neither string contains the git state, and git takes longer than everything
  // else.
  if (FLAGS_print != "record") source.git_folder.clear();
  return source;
}

absl::Status Write(const std::string& text) {
  if (FLAGS_output == "-") {
    std::cout << text;
    return absl::OkStatus();
  }
  const std::string path = IsFolder(FLAGS_output)
                               ? JoinPath(FLAGS_output, "env.jsonl")
                               : FLAGS_output;
  return WriteFileAtomically(path, text);
}

absl::StatusOr<ExitCode> RunChecks() {
  std::vector<Check> checks =
      CheckTiming(Root(FLAGS_root), absl::Seconds(FLAGS_sample_s),
                  [](absl::Duration length) { absl::SleepFor(length); });
  RETURN_IF_ERROR(IgnoreChecks(
      absl::StrSplit(FLAGS_ignore, ',', absl::SkipEmpty()), &checks));
  std::string text;
  if (FLAGS_format == "jsonl") {
    for (const Check& check : checks) {
      AppendRecord(EnvCheckRecord(check), &text);
    }
  } else {
    text = CheckReport(checks);
  }
  RETURN_IF_ERROR(Write(text));
  return CheckExitCode(checks);
}

absl::StatusOr<ExitCode> Collect() {
  const MachineInfo machine = ReadMachine(Source());
  if (!machine.gpu.problem.empty()) {
    std::cerr << "collect_env: " << machine.gpu.problem
              << "; GPUs may be missing from the record\n";
  }
  const Env env = EnvRecord(machine, absl::Now());
  std::string text;
  if (FLAGS_print == "profile") {
    text = absl::StrCat(env.machine_profile(), "\n");
  } else if (FLAGS_print == "env_id") {
    text = absl::StrCat(env.env_id(), "\n");
  } else {
    AppendRecord(env, &text);
  }
  RETURN_IF_ERROR(Write(text));
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> CollectEnv(const std::vector<std::string>&) {
  RETURN_IF_ERROR(CheckFlags());
  return FLAGS_check ? RunChecks() : Collect();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(), feedrate::CollectEnv);
}
