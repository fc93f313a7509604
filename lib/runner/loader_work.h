// A loader, from source to batches: what `pipeline` measures.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_WORK_H_
#define FEEDRATE_LIB_RUNNER_LOADER_WORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"
#include "lib/records/records.pb.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/job_work.h"
#include "lib/runner/loader_inputs.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"

namespace feedrate {

class LoaderWork : public JobWork {
 public:
  // All outlive it.
  LoaderWork(const RunContext& context, const Job& job, const JobPolicy& policy)
      : context_(context), job_(job), policy_(policy) {}

  absl::StatusOr<int64_t> OwnBytes() override;
  absl::Status Prepare() override;
  absl::StatusOr<Preflight> LookAhead() override;
  absl::StatusOr<Equivalence> CheckEquivalence() override;
  // One batch of a fresh loader. Also measures what a single worker reaches,
  // and with `diagnose` what is reached with parts left out.
  absl::Status WarmUp() override;
  absl::Status Measure(int run_index, Row* row) override;
  bool alive() const override { return child_ != nullptr && child_->alive(); }
  void End() override;
  std::string timed_unit() const override { return "batch"; }

 private:
  absl::Status GetInput();
  absl::StatusOr<std::unique_ptr<MeasuredChild>> Spawn(
      const LoaderSpec& spec, PrepareReply* reply) const;
  absl::StatusOr<EpochReply> Epoch(MeasuredChild* child, int64_t count,
                                   uint64_t seed, double limit_s,
                                   double consumer_s) const;
  // What a loader that differs from this one reaches in a short epoch.
  absl::StatusOr<EpochReply> TryOther(const LoaderSpec& spec) const;
  absl::Status CompareWithOneWorker();
  absl::Status CompareWithOneConnection();
  absl::Status TryAblations();
  // What the GPU could do at best, for loaders of ours.
  absl::Status MeasureDevice();
  absl::StatusOr<DeviceLimits> AskForDeviceLimits() const;
  // Epochs until the job's minima are reached.
  absl::StatusOr<std::vector<EpochReply>> RunEpochs(uint64_t seed,
                                                    Cache* cache);
  // When half of an epoch will be done, roughly.
  double HalfOfEpoch() const;
  void AddLimit(Row* row) const;
  double EngineItemsPerSecond() const;
  // Of a transform that is itself a crop which resizes.
  std::optional<WindowShape> OwnWindowShape() const;
  std::optional<Limit> LimitOfLoader() const;
  std::optional<Limit> LimitOfPeer() const;
  double BytesOfFile() const;
  void AddComparisons(const std::vector<EpochReply>& epochs, Row* row) const;

  const RunContext& context_;
  const Job& job_;
  const JobPolicy& policy_;
  LoaderInputs::Input input_;
  LoaderSpec spec_;
  EpochPolicy epochs_;
  std::unique_ptr<MeasuredChild> child_;
  std::unique_ptr<ChildSubject> subject_;
  // Of the warm-up, start and end included.
  double per_item_s_ = 0;
  // What engines of the device decode alone, where they do.
  double engine_items_per_s_ = 0;
  // Items a second of one worker while it ran.
  std::optional<double> one_worker_;
  // What one connection to the store moves.
  std::optional<double> one_connection_mb_per_s_;
  std::vector<LoaderAblation> ablations_;
  bool asked_for_limits_ = false;
  std::optional<DeviceLimits> device_limits_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_WORK_H_
