// Jobs of mode `train` out of flags.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_JOBS_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_JOBS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct TrainRequest {
  std::vector<std::string> libraries;
  std::string scope = "synthetic";
  std::string device = "cpu";
  int batch_size = 32;
  int workers = 0;  // Of the loader.
  // Short names of its data, a job each. Empty: of what is synthetic.
  std::vector<std::string> datasets;
  int64_t seed = 0;
  int num_runs = 1;
  // Settings of all jobs; those at their default are left out.
  std::map<std::string, std::string> settings;
  // As `plan` takes it; axes are `batch_size`, `device`, `seed` and settings.
  std::string sweep;
};

// Points of the sweep in order, the libraries of one point side by side. A
// world size above 1 brings the same job with one process along, which comes
// first: efficiency is against it. InvalidArgument names what is wrong.
absl::StatusOr<std::vector<Job>> MakeTrainJobs(const TrainRequest& request);

// The short name of the data in scope `synthetic`, as `plan` gives it.
inline constexpr char kSyntheticDataset[] = "synthetic:train";

// Lays settings over planned jobs and names them anew; brings jobs with one
// process along as above. InvalidArgument names what is wrong.
absl::StatusOr<std::vector<Job>> WithSettings(
    const std::vector<Job>& jobs,
    const std::map<std::string, std::string>& settings);

// Devices of this machine that a process each can have: GPUs, or cores.
int DeviceCount(const std::string& device);

// Jobs of a file or of standard input (`-`), as `plan` writes them.
// InvalidArgument when there are none or one is for another program.
absl::StatusOr<std::vector<Job>> ReadTrainJobs(const std::string& path);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_JOBS_H_
