#include "lib/gate/duel/run_duel.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/message.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/draw/progress.h"
#include "lib/environment/env_record.h"
#include "lib/gate/duel/distrust.h"
#include "lib/gate/duel/duel_summary.h"
#include "lib/machine/gpu.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

absl::StatusOr<ExitCode> Bisect(const DuelRun& run, RecordWriter* out,
                                Progress* progress) {
  BisectOptions options = run.bisect;
  options.duel = run.duel;
  ASSIGN_OR_RETURN(const BisectResult result, RunBisect(options));
  progress->Finish();
  const bool has_answer = !result.bisection.verdict().empty();
  if (has_answer) RETURN_IF_ERROR(out->Write(result.bisection));
  RETURN_IF_ERROR(out->Finish());
  if (has_answer && !run.quiet) {
    std::cerr << PrintableLines(BisectionText(result.bisection));
  }
  if (!result.failure.empty()) {
    std::cerr << "duel: " << PrintableText(result.failure) << "\n";
  }
  return result.exit_code;
}

// Profiles both commands and writes the record. If the profiler does not work,
// only warns.
absl::StatusOr<ExitCode> WriteProfile(const DuelRun& run, RecordWriter* out,
                                      std::string* text) {
  const absl::StatusOr<Profile> profile =
      RunProfile(run.duel, run.profiler, run.profile_pairs);
  if (absl::IsCancelled(profile.status())) return ExitCode::kInterrupted;
  if (absl::IsFailedPrecondition(profile.status())) {
    run.duel.warn(std::string(profile.status().message()));
    return ExitCode::kDone;
  }
  RETURN_IF_ERROR(profile.status());
  *text = ProfileText(*profile, 12);
  RETURN_IF_ERROR(out->Write(*profile));
  return ExitCode::kDone;
}

}  // namespace

absl::StatusOr<ExitCode> RunDuelProgram(DuelRun run) {
  DuelOptions& options = run.duel;
  std::unique_ptr<Distrust> distrust;
  if (run.distrusts) {
    ASSIGN_OR_RETURN(distrust, Distrust::Make());
    options.distrust = distrust.get();
  }
  const Interrupt interrupt;
  UniqueFd file;
  // People get the summary alone.
  if (run.output == "-" && isatty(STDOUT_FILENO) != 0) {
    run.output = "/dev/null";
  }
  if (run.output != "-") {
    RETURN_IF_ERROR(MakeFolder(ParentFolder(run.output)));
    file = UniqueFd(open(run.output.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.valid()) {
      return absl::UnavailableError(
          absl::StrCat(run.output, ": cannot create: ", std::strerror(errno)));
    }
  }
  RecordWriter out(file.valid() ? file.get() : STDOUT_FILENO,
                   file.valid() ? run.output : "standard output",
                   RecordWriter::Flush::kEachRecord);
  const Env env = EnvRecord(ReadMachine(ThisMachine()), absl::Now());
  RETURN_IF_ERROR(out.Write(env));
  options.machine_profile = env.machine_profile();
  options.env_id = env.env_id();
  options.write = [&out](const google::protobuf::Message& record) {
    return out.Write(record);
  };
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  int64_t runs = 0;
  if (!run.quiet) {
    // A bisection goes on until a commit is probable enough.
    if (!options.floor && !run.is_bisect) {
      std::cerr << "duel: " << DuelCost(options, run.expected_jobs);
    }
    options.progress = [&](const std::string& what) {
      // Undecided jobs get more pairs than the first look has.
      progress.Show("duel", runs,
                    std::max<int64_t>(runs, 2 * options.looks[0] + 1), what);
      ++runs;
    };
  }
  options.warn = [&progress](const std::string& text) {
    progress.Finish();
    std::cerr << "duel: " << PrintableText(text) << "\n";
  };
  if (options.distrust != nullptr &&
      !options.distrust->NotConfinedFrom().empty()) {
    options.warn(absl::StrCat("the kernel does not keep the commands from ",
                              options.distrust->NotConfinedFrom(),
                              "; their rows have the label not_confined"));
  }
  options.gpu_libraries = NvmlLibraries();
  options.is_stopped = [&interrupt] { return interrupt.happened(); };
  if (run.is_bisect) return Bisect(run, &out, &progress);
  ASSIGN_OR_RETURN(DuelResult result, RunDuel(options));
  std::string profile;
  if (run.profile_pairs > 0 && result.exit_code == ExitCode::kDone) {
    ASSIGN_OR_RETURN(result.exit_code, WriteProfile(run, &out, &profile));
  }
  RETURN_IF_ERROR(out.Finish());
  progress.Finish();
  if (!run.quiet && result.exit_code == ExitCode::kDone) {
    std::cerr << PrintableLines(DuelSummary(options, result) + profile);
  }
  if (!run.export_file.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(run.export_file,
                                        DuelExport(result, run.export_format)));
  }
  if (!result.failure.empty()) {
    std::cerr << "duel: " << PrintableText(result.failure) << "\n";
  }
  return result.exit_code;
}

}  // namespace feedrate
