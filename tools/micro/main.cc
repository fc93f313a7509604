// Measures one transform at a time on decoded images, one thread, for each
// library.
//
//   bazel run //tools/micro -- --config=$PWD/configs/demo.textproto
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/confinement.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"
#include "lib/config/override_flags.h"
#include "lib/runner/core/run.h"
#include "lib/runner/core/run_flags.h"
#include "lib/runner/micro/distrusted_calls.h"
#include "lib/runner/micro/transform_work.h"

DEFINE_bool(distrust, false,
            "measure subjects that may cheat: time each call from outside of "
            "its process, on an input that it has never seen, and check a "
            "random part of the outputs with --reference or the transform's "
            "own reference; see docs/distrust.md");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "micro";
  info.summary = "measure one transform at a time on decoded images";
  info.usage = "[--config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Reads jobs from standard input, --jobs or --config. Writes env, run\n"
      "and row records: one row per run of each transform in each library.\n"
      "Every library gets the same decoded images from shared memory and runs\n"
      "in its own process, on one thread. If a library fails, the row gives\n"
      "the reason and the next job runs. Outputs are compared with a\n"
      "reference, so that a row says whether the library did the same work.";
  info.examples = {
      "micro --config=configs/demo.textproto",
      "plan --config=configs/paper/prod_c4_rgb_micro_cpu.textproto | micro "
      "--dataset=val --output=rows.jsonl",
      "micro --config=configs/demo.textproto --output=rows.jsonl --resume",
      "micro --config=configs/demo.textproto --verify",
      "micro --subject=my_pkg.aug:transforms",
      "micro --subject=theirs:transforms --distrust --reference=mine:slow",
  };
  info.flag_files = {"tools/micro/main.cc", kRunFlagsFile, kOverrideFlagsFile};
  return info;
}

absl::StatusOr<ExitCode> RunDistrusted(RunOptions options) {
  RETURN_IF_ERROR(AdoptProcesses());
  const Confinement confinement = FindConfinement();
  ASSIGN_OR_RETURN(const std::string folder,
                   MakeTemporaryFolder("feedrate-distrust-"));
  ASSIGN_OR_RETURN(options.source.subject_prefix,
                   ConfinedPrefix(confinement, folder));
  options.source.subject_setting = kDistrust;
  if (!confinement.Whole()) {
    options.source.subject_label = "not_confined";
    std::cerr << "micro: the kernel does not keep subjects from "
              << (confinement.network ? "files"
                  : confinement.files ? "the network"
                                      : "the network and files")
              << "; their rows have the label not_confined\n";
  }
  absl::StatusOr<ExitCode> code = RunJobs(options);
  // Who starts others without end is left alone: its rows have failed.
  EndProcesses().IgnoreError();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return code;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(RunOptions options, RunOptionsFromFlags("micro"));
  options.modes = {MakeTransformMode()};
  if (FLAGS_distrust) {
    if (options.verify || !options.equivalence) {
      return absl::InvalidArgumentError(
          "--distrust checks the outputs of timed calls; leave out --verify "
          "and --noequivalence");
    }
    return RunDistrusted(std::move(options));
  }
  return RunJobs(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::RunIfConfined(argc, argv);
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
