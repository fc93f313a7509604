// Runs jobs: one job from its process to its rows, groups of jobs that take
// turns, and `--verify`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/stopwatch.h"
#include "lib/measure/measure_run.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/run_context.h"

namespace feedrate {

// One job. Whatever the measured code does ends in rows. A status that is not
// OK ends the whole run: it was interrupted (Cancelled), or a row could not be
// written.
class JobRun {
 public:
  // Both outlive this object.
  JobRun(const RunContext* context, const Job& job);

  // Run indexes that are still to be measured.
  const std::vector<int>& pending() const { return pending_; }
  const Job& job() const { return job_; }
  // Adds a label to all rows of the job.
  void AddLabel(const std::string& label) { labels_.push_back(label); }
  // Measures all runs, including those that are already done.
  void MeasureAgain();

  // Prepares the job until a run can be measured: child, transform, preflight,
  // equivalence, warm-up. A job that fails or stops early gets a row for each
  // pending run, and then no run is pending.
  absl::Status Begin();
  // Waits for a quiet machine, measures one pending run and writes its rows.
  // Repeats a noisy run. After the last pending run, makes another one pending
  // while the interval of the median is wider than its target and the budget
  // lasts.
  absl::Status Measure(int run_index);
  // Ends the child.
  void End();
  // Writes a row with `status` for each pending run.
  absl::Status Answer(const std::string& status, const std::string& reason);

  // Result of CheckEquivalence. The label is empty when nothing was compared.
  const Equivalence& equivalence() const { return equivalence_; }
  // The steps of Begin that `--verify` needs.
  absl::Status Prepare();
  absl::Status CheckEquivalence();
  // Memory that its process will need, approximately.
  absl::StatusOr<int64_t> ExpectedMemory() { return work_->ExpectedMemory(); }
  absl::StatusOr<int64_t> ExpectedGpuMemory() {
    return work_->ExpectedGpuMemory();
  }

 private:
  void StartRow();
  absl::Status TryBegin();
  absl::Status MeasureOnce(int run_index, Row* measured);
  // Whether another run shall make the interval of the median narrower.
  bool IsUnstable() const;
  // Whether the budget allows something beyond the plan that takes `seconds`.
  bool CanAfford(double seconds) const;
  Row NewRow(int run_index);
  absl::Status WriteFailure(const absl::Status& failure,
                            const std::vector<int>& run_indexes);
  absl::Status Write(Row* row);

  const RunContext& context_;
  const Job job_;
  JobMode* const mode_;
  absl::StatusOr<JobPolicy> found_policy_;
  JobPolicy policy_;
  const std::unique_ptr<JobWork> work_;
  std::vector<int> pending_;
  std::vector<std::string> labels_;
  std::map<int, int> next_attempt_;
  // Throughput of the last attempt by run index.
  std::map<int, double> throughputs_;
  // Timed seconds of the planned runs, and of repetitions and further runs.
  double planned_s_ = 0;
  double extra_s_ = 0;

  bool has_preflight_ = false;
  Preflight preflight_;
  Equivalence equivalence_;
  absl::Time row_start_;
  Stopwatch row_watch_;
};

// Groups jobs that differ only in their library, in the order of the first job
// of each group. Returns indexes into `jobs`.
std::vector<std::vector<int>> GroupJobs(const std::vector<Job>& jobs);

// 0 … count-1 in an order that depends only on `seed`.
std::vector<int> ShuffledOrder(int count, uint64_t seed);

// Starts and prepares the jobs of each group and measures their first runs.
// Then measures the next run index of each job in turn, in an order shuffled by
// the jobs' seed within a group, while the others wait on their pipes. A
// temporary disturbance of the machine so affects all libraries alike, and the
// runs of a job are as far apart as possible, so that their scatter shows how
// the speed of the machine wanders. A process that dies loses only its own row.
// When memory is too small for this, the groups run one after the other, then
// the jobs of a group, which get the label `memory_limited`. Calls `begins` for
// each job that begins and for each run. Fails only as JobRun does.
absl::Status RunGroups(const RunContext& context,
                       absl::Span<const std::vector<const Job*>> jobs,
                       const std::function<void(const Job&)>& begins);

// Compares the outputs of each job's library with the reference, without
// timing. Cancelled when interrupted; other failures are part of the
// verification.
absl::StatusOr<std::vector<Verification>> VerifyJobs(
    const RunContext& context, const std::vector<Job>& jobs,
    const std::function<void(const Job&)>& begins);

// A table with a column per library and a row per transform, each in order of
// first appearance, then a line for each pair that does not do the same work,
// with the reason. Jobs that differ in settings only share a cell.
std::string VerificationTable(const std::vector<Verification>& verifications);
// "9 outputs (7 exact, 1 different, 1 crashed)".
std::string VerificationSummary(const std::vector<Verification>& verifications);

// Whether processes that need this much memory fit into `available_bytes`
// together, with some to spare.
bool FitInMemory(const std::vector<int64_t>& needed, int64_t available_bytes);

}  // namespace feedrate
