// The run loop of `train`, without its flags.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RUN_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RUN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/base/exit_code.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"
#include "lib/runner/train/multi_node.h"

namespace feedrate {

struct TrainRunOptions {
  std::vector<Job> jobs;
  // Folder with requirements. Empty means that it is searched for.
  std::string configs_folder;
  // `-`, a file or a folder, as in RowOutput.
  std::string output = "-";
  bool resume = false;
  // Where the jobs came from, for the run's record.
  RunConfig config;
  // Folders by the short names of data sets, for scope `e2e`.
  std::map<std::string, std::string> folders;
  std::vector<std::string> fail_on;
  int retries = 0;
  int64_t memory_limit_bytes = 0;
  absl::Duration silence = absl::Minutes(5);
  // Dense peak of the device in TFLOP/s. 0 means from the registry, or
  // measured.
  double peak_tflops = 0;
  // Doubles the batch of each job until memory runs out.
  bool find_batch_size = false;
  // Writes a flat JSON file for `compare_baseline`; empty means none. With
  // several jobs it is about the last that is `ok`.
  std::string metrics;
  // Prints a table of the step's budget on standard error at the end.
  bool budget = true;
  // The position of this process when srun started several. Rank 0 writes all
  // rows; on the other ranks RunTrain starts what rank 0 orders until that
  // ends.
  absl::optional<SlurmStep> step;
  // More arguments for the processes, such as profile=trace, which are not part
  // of a job.
  std::vector<std::string> words;
};

// Runs all jobs and writes env, run and row records. Fails as RunJobs does.
absl::StatusOr<ExitCode> RunTrain(const TrainRunOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RUN_H_
