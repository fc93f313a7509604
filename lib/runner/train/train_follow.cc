#include "lib/runner/train/train_follow.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/exit_code.h"
#include "lib/base/status_macros.h"
#include "lib/config/load.h"
#include "lib/runner/train/rank_link.h"
#include "lib/runner/train/train_processes.h"
#include "lib/runner/train/train_worker.h"

namespace feedrate {
namespace {

constexpr char kStore[] = "store=";

// `order` as this rank's part of it. The last word says where all meet.
absl::StatusOr<TrainCommand> CommandOf(const TrainRunOptions& options,
                                       const WorkerPlaces& places,
                                       RankOrder order) {
  if (order.words.empty() || order.words.back().rfind(kStore, 0) != 0) {
    return absl::DataLossError("rank 0 does not say where to meet");
  }
  TrainCommand command;
  command.store = order.words.back().substr(sizeof(kStore) - 1);
  order.words.pop_back();
  ASSIGN_OR_RETURN(const WorkerCommand worker,
                   TrainWorker(places, order.library));
  command.argv = worker.argv;
  command.environment = worker.environment;
  command.argv.insert(command.argv.end(), order.words.begin(),
                      order.words.end());
  command.world_size = options.step->world_size;
  command.first_rank = options.step->rank;
  command.local_ranks = 1;
  command.first_device = options.step->local_rank;
  command.silence = options.silence;
  command.memory_limit_bytes = options.memory_limit_bytes;
  return command;
}

}  // namespace

absl::StatusOr<ExitCode> FollowTrain(const TrainRunOptions& options) {
  const Interrupt interrupt;
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(options.configs_folder, ""));
  const WorkerPlaces places = PlacesOfThisProgram(configs);
  ASSIGN_OR_RETURN(const std::unique_ptr<RankFollower> link,
                   RankFollower::Join(*options.step, options.silence));
  for (;;) {
    const auto order = link->Next(interrupt.fd());
    if (absl::IsCancelled(order.status())) return interrupt.exit_code();
    RETURN_IF_ERROR(order.status());
    if (!order->has_value()) return ExitCode::kDone;
    ASSIGN_OR_RETURN(TrainCommand command, CommandOf(options, places, **order));
    command.interrupt_fd = interrupt.fd();
    const absl::Status status = RunTrainProcesses(command).status();
    if (absl::IsCancelled(status)) return interrupt.exit_code();
    if (!status.ok()) std::cerr << "train: " << status.message() << "\n";
  }
}

}  // namespace feedrate
