// Rows of trainings, and metrics from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_processes.h"

namespace feedrate {

struct TrainDevicePeak {
  // Product name of the GPU. Empty on the CPU.
  std::string gpu;
  // The peak that the caller gives, in operations per second. 0 means none.
  double given_flops = 0;
  // Rates of products and copies, measured once per run for the device and the
  // precision. 0 means not measured.
  double matmul_flops = 0;
  double copy_bytes = 0;
};

// Sets result, times and `train`. `results` has one entry per process. Steps
// take as long as in the slowest process; memory is the largest.
void SetTrainResult(const Job& job, const TrainSettings& settings,
                    const TrainDevicePeak& peak,
                    const std::vector<TrainReply>& results, Row* row);

// Sets `storage` from what all processes read from a store during the measured
// steps. `store` has the fields of PrintStoreSpec.
void SetObjects(const std::vector<TrainReply>& results,
                const std::map<std::string, std::string>& store, Row* row);

// Slope of the least-squares line through `values` over 0, 1, 2 …; 0 for fewer
// than two values.
double LeastSquaresSlope(const std::vector<double>& values);

// What `compare_baseline` reads as <machine_profile>.metrics.json: medians over
// the runs of a job, the times and rates of each run, and how many runs were
// disturbed by what. REQUIRES: all are ok, and there is one.
std::string MetricsJson(const std::vector<Row>& runs);

// Compares rows of one run: scaling_efficiency relative to the same job with
// one process, speed-up and memory relative to fp32. `before` are the earlier
// rows.
void CompareWithEarlier(const std::vector<Row>& before, Row* row);

}  // namespace feedrate
