// Jobs as tasks of machines, and tasks packed into waves under a quota.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/config/places.h"
#include "lib/config/policy.pb.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/job.pb.h"

namespace feedrate {

inline constexpr double kSecondsPerHour = 3600;

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

// What machines take from a quota.

// `us-central1-a` -> `us-central1`.
std::string RegionOfZone(const std::string& zone);

// Required fields are there, names unique, amounts not negative. Fails through
// `check`, with the place.
absl::Status CheckQuota(const Quota& quota, const FieldChecker& check);

// The machine type of this name, or nullptr.
const MachineType* FindMachineType(const Quota& quota, const std::string& name);

// Machines that run at the same time.
class QuotaUse {
 public:
  // `quota` outlives this.
  explicit QuotaUse(const Quota& quota) : quota_(quota) {}

  // Adds the machine of `task` and returns "", or leaves everything as it is
  // and returns the limit that forbids it, in words.
  // REQUIRES: its machine type is in the quota.
  std::string TryAdd(const WaveTask& task);

 private:
  const Quota& quota_;
  // By limit, then by region ("" for limits over all regions).
  std::map<int, std::map<std::string, int64_t>> used_;
};

// Tasks packed into waves under a quota.

// Puts tasks into the order of the paper (policy's `paper_order`, then as
// they come) and fills wave after wave with what the quota allows. Tasks of
// one machine type never overtake each other; a task of another type that
// still fits does not wait for them. A wave ends when its last task does.
// InvalidArgument when a single machine is more than the quota gives.
absl::StatusOr<std::vector<Wave>> PackWaves(std::vector<WaveTask> tasks,
                                            const Quota& quota,
                                            const Policy& policy);

// Where a scenario and mode stand in the order of the paper, from 0; what is
// not in it comes last.
int PaperStepOf(const std::string& scenario, const std::string& mode,
                const Policy& policy);

// The waves for people: machines, jobs, time, what binds, the end.
std::string WavesText(const std::vector<Wave>& waves);

// Seconds until a machine is ready, of the quota file or the default.
double SetupSeconds(const Quota& quota);
// Longest work of one machine, of the quota file or the default.
double MaxTaskSeconds(const Quota& quota);

}  // namespace feedrate
