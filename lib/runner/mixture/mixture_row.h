// Rows and batch records of a mixture, from what its worker answered.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_ROW_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/records/records.pb.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// DataLoss when the counts of the reply are not those of a mixture of these
// sources: a number that is none of them, or batches of another size.
absl::Status CheckCounts(const EpochReply& reply, size_t sources);

// One record a batch, without job, run index and run id.
std::vector<Batch> BatchesOf(const EpochReply& reply,
                             const std::vector<MixtureSource>& sources,
                             int64_t warmup);

// Timing and `mixture` of a row. Data sets that the reply left out have no part
// in it. REQUIRES: CheckCounts is OK, and there are more batches than warm-up.
void SetMixture(const EpochReply& reply, const std::vector<Batch>& batches,
                const std::vector<MixtureSource>& sources,
                const MixtureSettingsOfJob& settings, Row* row);

// Lines for a person: why a run failed, what was skipped and left out, and a
// teardown that was killed. Empty when there is nothing to say.
std::string MixtureText(const Row& row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_ROW_H_
