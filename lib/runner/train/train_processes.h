// The processes of one training, from their start to their end.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_PROCESSES_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_PROCESSES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/runner/train/train_result.h"

namespace feedrate {

struct TrainCommand {
  // Program and its words, without rank, world size and store.
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  int world_size = 1;
  // Those that run here: all of them, or one where other nodes have the others.
  int first_rank = 0;
  int local_ranks = 0;  // 0: all.
  // The GPU of the first of them; the next has the next.
  int first_device = 0;
  // For the processes to find each other: a file that is not there yet, or
  // tcp://HOST:PORT, where rank 0 listens.
  std::string store;
  // Longest time without a word from any of them.
  absl::Duration silence = absl::Minutes(5);
  // What each may take beyond what it starts with. 0: no limit.
  int64_t memory_limit_bytes = 0;
  // Readable once the run is to end. -1: never.
  int interrupt_fd = -1;
  // Hears of steps done.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Starts all of this node, waits for them, and gives their results by rank.
// Whatever they do ends in a status as of lib/worker/child.h: Unknown with
// their own words, Aborted when one died (and which), DataLoss for garbage,
// DeadlineExceeded, ResourceExhausted, Cancelled. When one ends badly the
// others get two seconds to see it themselves and are then killed; none is left
// when this returns.
absl::StatusOr<std::vector<TrainResult>> RunTrainProcesses(
    const TrainCommand& command);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_PROCESSES_H_
