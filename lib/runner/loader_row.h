// The loader's part of a row.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_ROW_H_
#define FEEDRATE_LIB_RUNNER_LOADER_ROW_H_

#include <vector>

#include "lib/machine/gpu.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Items a second while the workers ran: without their start and end. 0 when
// nothing was delivered.
double RunningThroughput(const EpochReply& epoch);

// Fills in what the epochs of one run say: status, timing, samples a batch, and
// `loader`. `processors` are those that may be used, `step_s` the training step
// that was played. REQUIRES: at least one epoch.
void SetEpochs(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
               int processors, double step_s, Row* row);

// Fills in how busy the GPU was while the epochs ran.
void SetGpuUsage(const GpuUsage& usage, Row* row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_ROW_H_
