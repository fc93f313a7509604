// Results of processes as the `train` of a row.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_ROW_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_ROW_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"
#include "lib/runner/train/train_result.h"
#include "lib/runner/train/train_settings.h"

namespace feedrate {

struct TrainDevicePeak {
  // Product name of the GPU. Empty on the CPU.
  std::string gpu;
  // What the caller says the peak is, in operations a second. 0: nothing.
  double given_flops = 0;
};

// Fills in outcome, times and `train`. `results` has one for each process.
// Steps take as long as the slowest process; memory is the largest.
void SetTrainResult(const Job& job, const TrainSettings& settings,
                    const TrainDevicePeak& peak,
                    const std::vector<TrainResult>& results, Row* row);

// Slope of the line of least squares through `values` over 0, 1, 2 …; 0 for
// fewer than two.
double LeastSquaresSlope(const std::vector<double>& values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_ROW_H_
