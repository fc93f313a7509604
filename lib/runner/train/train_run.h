// Runs `train`: its mode of jobs for the run loop, and the ranks that rank 0 of
// a Slurm step commands.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/runner/core/run.h"
#include "lib/runner/train/train_jobs.h"

namespace feedrate {

// Which steps are traced after the timed ones.
struct TrainProfile {
  // `trace` or `tb`. Empty means that none are.
  std::string form;
  // Beginning of the names of the files; a folder for `tb`.
  std::string output;
  int wait = 0;
  int warmup = 0;
  int active = 1;
  int repeat = 1;
};

struct TrainRunOptions {
  // Limits, output and stores. RunTrain sets tool, modes and jobs. A process
  // may be silent for `limits.hang_s`.
  RunOptions run;
  TrainSource source;
  // Number of the GPU, or of the first one of several processes.
  int device_index = 0;
  // `limits.hang_s` is what the user named, not the default.
  bool timeout_given = false;
  // SETTING=VALUE, separated by commas: the rows that a table of speed-ups is
  // relative to. Empty means that there is none.
  std::string relative_to;
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
  TrainProfile profile;
  // Checkpoints to write and to start from. Empty means none.
  std::string checkpoint;
  int64_t checkpoint_every = 0;
  std::string resume_from;
  // Safetensors files: weights to begin with, and those to write, and their
  // averages. Empty means none.
  std::string import_weights;
  std::string export_weights;
  std::string export_ema;
  // Evaluates the model on this labeled folder every so many steps. Empty and 0
  // mean that it is not.
  std::string validation_dataset;
  int64_t validate_every = 0;
  // Drops the files of scope `e2e` from memory before each training. Otherwise
  // they are read once before, so that every loader finds them there.
  bool cold = false;
};

// Runs all jobs, writes env, run and row records, and prints tables and what
// limits each training on standard error. kRunFailed if no training is ok. If
// srun started several processes, rank 0 writes all rows, and the others start
// what rank 0 orders until that ends. Fails as RunJobs does.
absl::StatusOr<ExitCode> RunTrain(const TrainRunOptions& options);

}  // namespace feedrate
