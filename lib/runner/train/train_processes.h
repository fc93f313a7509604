// The processes of one training: their programs, their run, and their results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/records/train_worker.pb.h"
#include "lib/runner/core/workers.h"

namespace feedrate {

struct TrainCommand {
  // Program and arguments, without rank, world size and store.
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  int world_size = 1;
  // The ranks that run on this node: all of them, or one if other nodes have
  // the others.
  int first_rank = 0;
  int local_ranks = 0;  // 0: all.
  // GPU of the first rank here; the next rank has the next GPU.
  int first_device = 0;
  // Where the processes find each other: tcp://HOST:PORT, where rank 0 listens,
  // or, if it is empty, a file in a temporary folder of this user.
  std::string store;
  // The longest time without output from any process.
  absl::Duration silence = absl::Minutes(5);
  // Memory that each process may use beyond what it starts with. 0 means no
  // limit.
  int64_t memory_limit_bytes = 0;
  // Becomes readable when the run shall end. -1 means never.
  int interrupt_fd = -1;
  // Called with the number of steps done.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Starts all processes of this node, waits for them, and returns their last
// answers by rank: `result`, or `answers` of an evaluation. Failures have a
// status as in lib/worker/child.h: Unknown with the process's own message,
// Aborted when one died (and which), DataLoss for garbage, DeadlineExceeded,
// ResourceExhausted, Cancelled. When one process fails, the others get two
// seconds to notice and are then killed; none is left when this returns.
absl::StatusOr<std::vector<TrainReply>> RunTrainProcesses(
    const TrainCommand& command);

// The program that trains: worker_train for `feedrate` and TorchScript files;
// train_worker.py in the environment of torch for the others. NotFound says
// what to build or create.
absl::StatusOr<WorkerCommand> TrainWorker(const WorkerPlaces& places,
                                          const std::string& library);

// feed.py in the environment of another library's loader, which worker_train
// starts. NotFound says what to create.
absl::StatusOr<WorkerCommand> FeederWorker(const WorkerPlaces& places,
                                           const std::string& loader);

// The program `name` of lib/model/worker. NotFound says what to build.
absl::StatusOr<std::string> ModelWorker(const WorkerPlaces& places,
                                        const std::string& name);

// What the lines of text at the beginning of a checkpoint say: `model`, `step`
// and the like. InvalidArgument or NotFound if it is none, or of no model, or
// its checksum does not fit; the message begins with the path. `warn` may be
// null; it is called with the path and why if there is no checksum.
absl::StatusOr<std::map<std::string, std::string>> CheckpointMeta(
    const std::string& path,
    const std::function<void(const std::string&)>& warn);

}  // namespace feedrate
