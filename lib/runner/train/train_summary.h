// Rows of trainings for people, and for the gate.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SUMMARY_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SUMMARY_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"
#include "lib/runner/train/train_result.h"

namespace feedrate {

// Rates, use of the device and where the time of a step went, a line a row.
std::string TrainTable(const std::vector<Row>& rows);

// Loader against storage: rows of scope `e2e`, by the mean step, because a
// loader that lags behind stalls some steps and not others. Empty without any.
std::string LoaderTable(const std::vector<Row>& rows);

// The kernels of a profile, longest first.
std::string KernelTable(const std::vector<TrainKernel>& kernels);

// What `compare_baseline` reads as <machine_profile>.metrics.json.
std::string MetricsJson(const Row& row);

// What rows of one run say about each other: scaling_efficiency against the
// same job with one process, speed-up and memory against fp32. `before` are the
// rows that came earlier.
void CompareWithEarlier(const std::vector<Row>& before, Row* row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SUMMARY_H_
