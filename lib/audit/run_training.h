// Runs a training with the hook that notes what it sees, kills it at chosen
// steps and starts it again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/audit/history.h"

namespace feedrate {

struct TrainingPlan {
  // The words of the command. {world_size} and {run} are replaced; without
  // {world_size}, as many processes are started as train together, with the
  // variables that torchrun sets.
  std::vector<std::string> command;
  // A shell's command that starts it again. Empty: the same command.
  std::string restart;
  // A shell's command before each run. Empty: none.
  std::string prepare;
  int world_size = 1;
  // The world size after a restart. 0 means that it stays the same.
  int restart_world_size = 0;
  int kills = 0;
  // Says at which steps and ranks.
  uint64_t seed = 1;
  // `kill`, `term`, or `both` in turns. After SIGTERM, `grace_s` pass before
  // SIGKILL.
  std::string signal = "kill";
  double grace_s = 30;
  // Ends a run that takes longer with an error. 0: never.
  double timeout_s = 0;
  // The folder with sitecustomize.py.
  std::string hook;
  // Gets a folder per run and life.
  std::string work;
  std::function<bool()> is_interrupted;
};

// Runs it once without kills. Internal, with how it ended, if it fails by
// itself; Cancelled if it was interrupted.
absl::StatusOr<TrainingRun> RunWhole(const TrainingPlan& plan);

// Runs it with kills, in lives that have about as many of `steps` steps each.
absl::StatusOr<TrainingRun> RunWithKills(const TrainingPlan& plan,
                                         int64_t steps);

// `python/feedrate/_audit` beside the program or in its bundle. NotFound names
// where it was looked for.
absl::StatusOr<std::string> FindHook();

}  // namespace feedrate
