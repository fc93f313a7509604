// Where a loader's time goes, from epochs with parts left out.
#ifndef FEEDRATE_LIB_RUNNER_DIAGNOSIS_H_
#define FEEDRATE_LIB_RUNNER_DIAGNOSIS_H_

#include <vector>

#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// A part costs what an epoch without it saves; handing batches over costs what
// an epoch takes that does nothing else. The largest is the verdict. Stages,
// where the loader tells them, part reading from decoding and copying from
// collating. A training step that keeps the accelerator busy is the verdict
// before all.
LoaderDiagnosis Diagnose(const LoaderSpec& spec, double throughput,
                         const std::vector<LoaderAblation>& ablations,
                         const LoaderStats& loader);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DIAGNOSIS_H_
