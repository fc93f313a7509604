// Finds the commit that changed the time of a command: builds commits in git
// worktrees and measures them in pairs with the good one.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/duel/duel.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

struct BisectOptions {
  // A folder of the repository.
  std::string repository = ".";
  // Revisions, as git understands them.
  std::string good;
  std::string bad;
  // Builds a commit, in the top folder of its worktree. Empty: nothing to
  // build.
  std::string build;
  // What is measured, in the same folder.
  std::string command;
  // Where worktrees and their builds stay for the next search. Empty: a
  // temporary folder.
  std::string worktrees;
  double confidence = 0.99;
  // How commands run: shell, processors, time limit, timing, job (`only`),
  // seed, warm-up, looks (the last is the most pairs of a commit), interest,
  // progress, warn, is_stopped. The rest is not used.
  DuelOptions duel;
};

struct BisectResult {
  // 0: found; 2: the good or the bad commit cannot be built or run; 4: cannot
  // tell, or both are equally fast; 130: stopped.
  ExitCode exit_code = ExitCode::kDone;
  Bisection bisection;
  // The reason for exit code 2.
  std::string failure;
};

// Follows first parents from `good` to `bad`. Skips commits that cannot be
// built or run. InvalidArgument if a revision is unknown or `good` is not
// before `bad`.
absl::StatusOr<BisectResult> RunBisect(const BisectOptions& options);

// The answer and its evidence, for people.
std::string BisectionText(const Bisection& bisection);

}  // namespace feedrate
