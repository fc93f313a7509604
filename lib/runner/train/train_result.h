// What a process that trained says.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RESULT_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RESULT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct TrainKernel {
  std::string name;
  double total_s = 0;
  int64_t calls = 0;
};

// Fields as lib/model/worker/train_run.cc and the Python worker write them.
struct TrainResult {
  std::string version;
  double wall_s = 0;
  std::vector<double> steps_s;
  // Mean seconds of a step by part, named as in the row's budget without `_s`.
  std::map<std::string, double> phases;
  std::vector<double> losses;
  std::vector<double> grad_norms;
  int64_t memory_peak_bytes = 0;
  int64_t memory_reserved_bytes = 0;
  double matmul_flops = 0;
  double copy_bytes = 0;
  std::map<std::string, int64_t> matmul_types;
  // Share of the time in which the GPU was busy. Below 0: not known.
  double gpu_use = -1;
  // Of a loader.
  std::string storage;
  int64_t files = 0;
  int64_t file_bytes = 0;
  std::vector<TrainKernel> kernels;
  std::vector<std::string> traces;
  // Of an evaluation, instead of all the above: the line as it is.
  std::string answers;
};

// One line of a process.
struct TrainEvent {
  // `ready`, `progress`, `result`, `answers` or `error`.
  std::string event;
  int64_t done = 0;
  int64_t total = 0;
  std::string error;
  // `oom` or `failed`.
  std::string kind;
  TrainResult result;
};

// DataLoss with the beginning of what was there when it is none, or a result
// without a number for each step.
absl::StatusOr<TrainEvent> ParseTrainEvent(absl::string_view line);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_RESULT_H_
