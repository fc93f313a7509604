// A transform on decoded items: what `micro` measures.
#ifndef FEEDRATE_LIB_RUNNER_TRANSFORM_WORK_H_
#define FEEDRATE_LIB_RUNNER_TRANSFORM_WORK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/records.pb.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/job_work.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"

namespace feedrate {

class TransformWork : public JobWork {
 public:
  // All outlive it.
  TransformWork(const RunContext& context, const Job& job,
                const JobPolicy& policy)
      : context_(context), job_(job), policy_(policy) {}

  absl::StatusOr<int64_t> OwnBytes() override;
  absl::StatusOr<int64_t> GpuBytes() override;
  absl::Status Prepare() override;
  absl::StatusOr<Preflight> LookAhead() override;
  absl::StatusOr<Equivalence> CheckEquivalence() override;
  absl::Status WarmUp() override;
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "item"; }

 private:
  void AddMeasured(const Timing& timing, Row* row);
  void AddGpu(const Timing& timing, Row* row);
  bool IsPartial() const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  InputCorpora::Input input_;
  int64_t num_items_ = 0;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
  feedrate::WarmUp warm_up_;
  // Of the device, on a GPU.
  double device_copy_bytes_per_s_ = 0;
  bool per_sample_loop_ = false;
  // By the preflight.
  double per_item_s_ = 0;
  // Of a decoder.
  Decode decode_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRANSFORM_WORK_H_
