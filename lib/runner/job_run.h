// One job, from a fresh child to its rows.
#ifndef FEEDRATE_LIB_RUNNER_JOB_RUN_H_
#define FEEDRATE_LIB_RUNNER_JOB_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/measure/measure_run.h"
#include "lib/records/records.pb.h"
#include "lib/runner/job_work.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/run_context.h"

namespace feedrate {

// Whatever the measured code does becomes rows. A status that is not OK ends
// the run: it was interrupted (Cancelled), or a row could not be written.
class JobRun {
 public:
  // Both outlive it.
  JobRun(const RunContext* context, const Job& job);

  // Run indexes that are asked for and not done yet.
  const std::vector<int>& pending() const { return pending_; }
  const Job& job() const { return job_; }
  // For all its rows.
  void AddLabel(const std::string& label) { labels_.push_back(label); }
  // Makes runs pending that are done.
  void MeasureAgain();

  // Brings the job to where a run can be measured: child, transform, preflight,
  // equivalence, warm-up. What fails or stops early is answered with a row for
  // each pending run, and nothing is pending any more.
  absl::Status Begin();
  // Measures one pending run, more than once when it is noisy, and writes its
  // rows.
  absl::Status Measure(int run_index);
  // Lets the child go.
  void End();
  // Writes rows of `status` for all pending runs.
  absl::Status Answer(const std::string& status, const std::string& reason);

  // What was found out in Begin, for `--verify`. Empty label: nothing.
  const Equivalence& equivalence() const { return equivalence_; }
  // All but warm-up and preflight, for `--verify`.
  absl::Status Prepare();
  absl::Status CheckEquivalence();
  // Memory that its process will take, roughly.
  absl::StatusOr<int64_t> OwnBytes() { return work_->OwnBytes(); }
  absl::StatusOr<int64_t> GpuBytes() { return work_->GpuBytes(); }

 private:
  absl::Status TryBegin();
  absl::Status MeasureOnce(int run_index, Row* measured);
  Row NewRow(int run_index);
  absl::Status WriteFailure(const absl::Status& failure,
                            const std::vector<int>& run_indexes);
  absl::Status Write(Row* row);

  const RunContext& context_;
  const Job job_;
  absl::StatusOr<JobPolicy> found_policy_;
  JobPolicy policy_;
  const std::unique_ptr<JobWork> work_;
  std::vector<int> pending_;
  std::vector<std::string> labels_;
  std::map<int, int> next_attempt_;

  bool has_preflight_ = false;
  Preflight preflight_;
  Equivalence equivalence_;
  absl::Time row_start_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_JOB_RUN_H_
