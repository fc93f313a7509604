// What `train` does, without its flags.
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
#include "lib/runner/train/slurm_step.h"

namespace feedrate {

struct TrainRunOptions {
  std::vector<Job> jobs;
  // Folder with requirements. Empty: found.
  std::string configs_folder;
  // `-`, a file or a folder, as with every runner.
  std::string output = "-";
  bool resume = false;
  // For the run's record: where the jobs came from.
  RunConfig config;
  // Folders by the short names that jobs have, for scope `e2e`.
  std::map<std::string, std::string> folders;
  std::vector<std::string> fail_on;
  int retries = 0;
  int64_t memory_limit_bytes = 0;
  absl::Duration silence = absl::Minutes(5);
  // Dense peak of the device in TFLOP/s. 0: from the registry, or measured.
  double peak_tflops = 0;
  // Doubles the batch of each job until memory runs out.
  bool find_batch_size = false;
  // A flat JSON file for `compare_baseline`; empty: none. Several jobs: of the
  // last that is `ok`.
  std::string metrics;
  // A table of the step's budget on standard error at the end.
  bool budget = true;
  // This process's place where srun started several. Rank 0 writes all rows;
  // RunTrain of the others starts what rank 0 orders until that ends.
  absl::optional<SlurmStep> step;
  // More words for the processes, such as profile=trace: no part of a job.
  std::vector<std::string> words;
};

// Runs all jobs and writes env, run and a row for each run. As RunJobs.
absl::StatusOr<ExitCode> RunTrain(const TrainRunOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RUN_H_
