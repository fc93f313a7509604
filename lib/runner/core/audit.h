// What audits find: ids that loaders delivered -> faults, and a table of them.
// Knows no processes; loader_audit.h runs the epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/tool/exit_code.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"

namespace feedrate {

// lib/records/worker.pb.h.
class EpochReply;

// The ids of each batch of an epoch.
using BatchIds = std::vector<std::vector<int64_t>>;
BatchIds BatchIdsOf(const EpochReply& reply);

// Counts what an epoch of `items` items lacks and has twice, and adds it to
// `coverage`. Ids that belong to no item count as unreadable. `name` is that of
// an item.
void AddCoverage(const BatchIds& epoch, int64_t items, int64_t unreadable,
                 const std::function<std::string(int64_t)>& name,
                 AuditCoverage* coverage);

// See AuditOrder.
std::string ScheduleSha256(const BatchIds& epoch);
bool IsShuffled(const BatchIds& epoch);

// What the ranks of an epoch of `items` items got.
AuditRanks CompareRanks(absl::Span<const BatchIds> ranks, int64_t items);

// Why the resume of a loader that saves no state is not audited.
inline constexpr char kNoMechanism[] = "no mechanism";

// Whether `before` and `after` an interruption are the epoch `whole`.
AuditResume CompareResumed(const BatchIds& before, const BatchIds& after,
                           const BatchIds& whole, int64_t items);

// Memory after each epoch of a soak, in bytes. The first fifth, and two at
// least, are the warm-up.
AuditGrowth GrowthOf(absl::Span<const double> pss_bytes, double seconds);

// An audit of `job`, with what is known before it begins.
Audit StartAudit(const Job& job, const std::string& run_id);
// Sets status and reason of an audit that ended with an error.
void FailAudit(const absl::Status& failure, Audit* audit);
// Sets verdict and further faults of an audit that is complete.
void JudgeAudit(Audit* audit);
// kRunFailed if an audit failed, or if none was done.
ExitCode ExitCodeOfAudits(absl::Span<const Audit> audits);

// A row per job: exactly once, order, workers, ranks, resume, growth, and the
// faults of all jobs below. For mixtures, the streams and their weights.
std::string AuditTable(absl::Span<const Audit> audits);

}  // namespace feedrate
