// Jobs cut into what one machine of a campaign does.
#ifndef FEEDRATE_LIB_PLANNING_TASKS_H_
#define FEEDRATE_LIB_PLANNING_TASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Gathers the jobs of one config into tasks. A task ends when its estimate
// would pass the quota file's `max_task_s`, and only between two transforms:
// the libraries of a transform are compared, so they share a machine.
class TaskCutter {
 public:
  // `config` has a `cloud` section; `machine` is its machine type.
  TaskCutter(const std::string& config_path, const RunConfig& config,
             const MachineType& machine, double max_task_s);

  // InvalidArgument, without a place, when the job's kind of hardware is not
  // the machine's: CPU rows come from machines without a GPU, GPU rows from
  // those with one.
  absl::Status Add(const Job& job);

  // All tasks, in order.
  std::vector<WaveTask> Finish();

 private:
  void Start();

  const std::string config_path_;
  const RunConfig& config_;
  const MachineType& machine_;
  const double max_task_s_;
  std::vector<WaveTask> tasks_;
  // Jobs of the transform that is being read; not in `tasks_` yet.
  WaveTask pending_;
  // Jobs so far.
  int64_t jobs_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_TASKS_H_
