// Which program trains for a library.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_WORKER_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_WORKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/runner/worker_command.h"

namespace feedrate {

// worker_train for `feedrate`, train_worker.py in the environment of torch for
// the others. NotFound says what to build or make.
absl::StatusOr<WorkerCommand> TrainWorker(const WorkerPlaces& places,
                                          const std::string& library);

// feed.py in the environment of a loader of another library: what worker_train
// starts. NotFound says what to make.
absl::StatusOr<WorkerCommand> FeederWorker(const WorkerPlaces& places,
                                           const std::string& loader);

// A program NAME of lib/model/worker. NotFound says what to build.
absl::StatusOr<std::string> ModelWorker(const WorkerPlaces& places,
                                        const std::string& name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_WORKER_H_
