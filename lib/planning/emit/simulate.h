// What a campaign would take, with machines that fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/quota.pb.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/plan_session.h"
#include "lib/records/job.pb.h"

namespace feedrate {

struct SimulationOptions {
  // Failures of one machine in an hour, on average. At least 0.
  double failures_per_hour = 0;
  // True: a wave starts when the one before has ended, as in a cloud project.
  // False: a machine that is free takes the next task, as on a cluster.
  bool in_waves = false;
  // Seconds between two copies of a task's rows; what was measured since the
  // last one is lost with the machine.
  double checkpoint_s = 60;
  // Seconds until somebody notices that a machine is gone.
  double detect_s = 300;
  uint64_t seed = 1;
};

struct Simulation {
  double makespan_s = 0;
  // Seconds of all machines, from their start to their end.
  double machine_s = 0;
  // Parts of machine_s: measuring what counts, getting ready, measuring what
  // was lost, and dead before it was noticed.
  double work_s = 0;
  double setup_s = 0;
  double lost_s = 0;
  double dead_s = 0;
  int64_t failures = 0;
  // Most machines at the same time.
  int64_t machines = 0;
  // Money; negative: a machine type has no price.
  double price = 0;

  double utilization() const { return machine_s > 0 ? work_s / machine_s : 0; }
};

// `tasks[i]` is machine and cost of `campaign.tasks[i]`. Every task ends at
// last: one that fails starts again from its last copy, at the head of the
// queue. REQUIRES: each fits the quota alone.
Simulation Simulate(const Campaign& campaign,
                    const std::vector<WaveTask>& tasks, const Quota& quota,
                    const SimulationOptions& options);

// The text of `plan --simulate`: median and range over `repetitions` seeds.
// Configs without a cloud section get the quota's first machine type of their
// kind. InvalidArgument when the quota has none, or is too small for one.
absl::StatusOr<std::string> SimulateText(const PlanSession& session,
                                         const Campaign& campaign,
                                         const LoadedQuota& quota,
                                         const SimulationOptions& options,
                                         int repetitions);

}  // namespace feedrate
