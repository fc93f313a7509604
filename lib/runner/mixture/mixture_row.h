// Rows, batch records and summaries of mixtures, from the replies of their
// worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/mixture/mixture_inputs.h"
#include "lib/worker/message.h"

namespace feedrate {

// DataLoss when the counts of the reply do not fit a mixture of these sources:
// an index of no source, or batches of another size.
absl::Status CheckCounts(const EpochReply& reply, size_t sources);

// One record per batch, without job, run index and run id.
std::vector<Batch> BatchesOf(const EpochReply& reply,
                             const std::vector<MixtureSource>& sources,
                             int64_t warmup);

// Sets timing and `mixture` of a row. Data sets that the reply left out have no
// part in it. If data was skipped, the row is labeled and its reason says what.
// REQUIRES: CheckCounts is OK, and there are more batches than
// warm-up.
void SetMixture(const EpochReply& reply, const std::vector<Batch>& batches,
                const std::vector<MixtureSource>& sources,
                const MixtureSettingsOfJob& settings, Row* row);

// Whether data was skipped in the run of this row because it cannot be used.
bool HasSkipped(const Row& row);

// Whether the samples of a stream keep the weights of the sources, without
// those that `left_out` names: Pearson's test of its blocks of `block` samples,
// which are drawn independently. Data sets with fewer than five expected draws
// count as one.
AuditWeights WeightsOf(const std::string& stream,
                       const std::vector<BatchCounts>& batches,
                       const std::vector<MixtureSource>& sources,
                       const std::vector<std::string>& left_out, int block);

// Lines for the user: why a run failed, what was skipped and left out, and
// whether a teardown was killed. Empty when there is nothing to report.
std::string MixtureText(const Row& row);

// One line per setting and library: samples per second, and the comparison with
// the first setting, run by run, with the 95% interval of the median ratio.
// Says when there are too few runs for an interval: then nothing was shown.
// Empty when there is nothing to compare.
//
// `job_ids` gives the order of the settings. The order of the rows is shuffled,
// so it does not tell which setting is the first.
std::string MixtureSummary(const std::vector<Row>& rows,
                           const std::vector<std::string>& job_ids);

}  // namespace feedrate
