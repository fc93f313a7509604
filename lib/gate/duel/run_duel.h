// The program `duel` without its flags: runs a duel or a search for a commit,
// writes the records, and tells people about it on standard error.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/duel/bisect.h"
#include "lib/gate/duel/duel.h"
#include "lib/gate/duel/profile.h"

namespace feedrate {

struct DuelRun {
  // Who runs and how. The machine, the callbacks, `duel.distrust` and
  // `bisect.duel` are filled in by the run.
  DuelOptions duel;
  // Nobody trusts the commands.
  bool distrusts = false;
  // Instead of a duel, searches the commit that changed the time.
  bool is_bisect = false;
  BisectOptions bisect;
  // File of the records; - means standard output, and nowhere if that is a
  // terminal.
  std::string output = "-";
  // Table of the results, in `export_format`. Empty: none.
  std::string export_file;
  std::string export_format;
  // Pairs to profile afterwards.
  int profile_pairs = 0;
  Profiler profiler = Profiler::kAuto;
  // Number of jobs that the commands print, to tell what the duel costs.
  int64_t expected_jobs = 1;
  // No progress and no summary.
  bool quiet = false;
};

absl::StatusOr<ExitCode> RunDuelProgram(DuelRun run);

}  // namespace feedrate
