// What audits find beside the items (lib/audit/loader_run.h), and a table of
// it. Knows no processes; loader_audit.h runs the epochs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/audit/loader_run.h"
#include "lib/base/tool/exit_code.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"

namespace feedrate {

// lib/records/worker.pb.h.
class EpochReply;

// Items whose ids cannot be read are in the last batch.
BatchIds BatchIdsOf(const EpochReply& reply);

// See AuditOrder.
std::string ScheduleSha256(const BatchIds& epoch);
bool IsShuffled(const BatchIds& epoch);

// Why the resume of a loader that saves no state is not audited.
inline constexpr char kNoMechanism[] = "no mechanism";

// What --resumes may be: 1 to 100, and only with --audit another number than 1.
absl::Status CheckResumes(int resumes, bool is_audit);
// After how many of `batches` batches an epoch is interrupted, `resumes` times.
std::vector<int64_t> InterruptionsOf(int64_t batches, int resumes);

// Memory after each epoch of a soak, in bytes. The first fifth, and two at
// least, are the warm-up.
AuditGrowth GrowthOf(absl::Span<const double> pss_bytes, double seconds);

// An audit of `job`, with what is known before it begins.
Audit StartAudit(const Job& job, const std::string& run_id);
// Sets status and reason of an audit that ended with an error.
void FailAudit(const absl::Status& failure, Audit* audit);
// Adds the faults that lib/audit does not know to an audit that is complete,
// and sets its verdict.
void JudgeAudit(Audit* audit);
// kRunFailed if an audit failed, or if none was done.
ExitCode ExitCodeOfAudits(absl::Span<const Audit> audits);

// A row per job: exactly once, order, workers, ranks, resume, growth, and the
// faults of all jobs below. For mixtures, the streams and their weights.
std::string AuditTable(absl::Span<const Audit> audits);

}  // namespace feedrate
