// A mixture of data sets: what `mixture` measures.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/job_work.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/mixture/mixture_inputs.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"

namespace feedrate {

// Every run has a process of its own, so that each starts from nothing. Its
// batches are written as records before its row.
class MixtureWork : public JobWork {
 public:
  // All outlive it.
  MixtureWork(const RunContext& context, const Job& job,
              const JobPolicy& policy)
      : context_(context), job_(job), policy_(policy) {}

  absl::StatusOr<int64_t> OwnBytes() override;
  absl::Status Prepare() override;
  // Nothing stops early: there is no transform.
  absl::StatusOr<Preflight> LookAhead() override { return Preflight(); }
  // Nothing to hold frames against.
  absl::StatusOr<Equivalence> CheckEquivalence() override {
    return Equivalence();
  }
  // A run warms itself up with its first batches.
  absl::Status WarmUp() override { return absl::OkStatus(); }
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "batch"; }

 private:
  absl::Status GetInput();
  absl::Status MeasureInChild(int run_index, Row* row);
  absl::StatusOr<EpochReply> RunEpoch(uint64_t seed);
  absl::Status WriteBatches(int run_index, std::vector<Batch>* batches);
  // Whatever a teardown does, the run stands.
  absl::Status TearDown(Row* row);
  void AddLeftOut(Row* row) const;
  void AddLimit(int run_index, Row* row) const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  const MixtureInput* input_ = nullptr;
  MixtureSettingsOfJob settings_;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_
