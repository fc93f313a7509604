#include "lib/runner/job_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/runner/job_work.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/loader_work.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/runner/mixture/mixture_work.h"
#include "lib/runner/null_job.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"
#include "lib/runner/transform_work.h"

namespace feedrate {
namespace {

constexpr char kNoisy[] = "noisy";

bool EndsTheRun(const absl::Status& status) {
  return status.code() == absl::StatusCode::kCancelled;
}

template <typename Words>
bool Contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::unique_ptr<JobWork> MakeWork(const RunContext& context, const Job& job,
                                  const JobPolicy& policy) {
  if (IsMixtureJob(job)) {
    return std::make_unique<MixtureWork>(context, job, policy);
  }
  if (IsLoaderJob(job)) {
    return std::make_unique<LoaderWork>(context, job, policy);
  }
  return std::make_unique<TransformWork>(context, job, policy);
}

}  // namespace

JobRun::JobRun(const RunContext* context, const Job& job)
    : context_(*context),
      job_(job),
      found_policy_(JobPolicyOf(context_.catalogue, context_.execution, job_,
                                context_.limits.hang_s)),
      policy_(found_policy_.ok() ? *found_policy_ : JobPolicy()),
      work_(MakeWork(context_, job_, policy_)),
      row_start_(absl::Now()) {
  for (const int run_index : job.run_indexes()) {
    if (context_.done->Done(job.job_id(), run_index)) continue;
    pending_.push_back(run_index);
    next_attempt_[run_index] =
        context_.done->NextAttempt(job.job_id(), run_index);
  }
}

void JobRun::MeasureAgain() {
  pending_.assign(job_.run_indexes().begin(), job_.run_indexes().end());
  for (const int run_index : pending_) {
    next_attempt_[run_index] =
        context_.done->NextAttempt(job_.job_id(), run_index);
  }
}

Row JobRun::NewRow(int run_index) {
  Row row = RowOf(job_, context_.identity, policy_.unit);
  if (!work_->dataset().id().empty()) {
    *row.mutable_dataset() = work_->dataset();
  }
  for (const std::string& label : labels_) row.add_labels(label);
  row.set_run_index(run_index);
  row.set_attempt(next_attempt_[run_index]++);
  row.set_library_version(work_->version().empty()
                              ? context_.servers->VersionOf(job_)
                              : work_->version());
  row.set_timed_unit(work_->timed_unit());
  if (has_preflight_) row.set_preflight_s(preflight_.elapsed_s);
  if (!equivalence_.label().empty()) {
    *row.mutable_equivalence() = equivalence_;
  }
  row.set_started_at(TimeText(row_start_));
  return row;
}

absl::Status JobRun::Write(Row* row) {
  if (equivalence_.label() == "noop") row->add_warnings("noop");
  const absl::Time now = absl::Now();
  row->set_duration_s(absl::ToDoubleSeconds(now - row_start_));
  row_start_ = now;
  return context_.output->Write(*row, job_.output());
}

absl::Status JobRun::Answer(const std::string& status,
                            const std::string& reason) {
  for (const int run_index : pending_) {
    Row row = NewRow(run_index);
    row.set_status(status);
    row.set_reason(reason);
    if (status == "early_stopped") {
      row.set_throughput(1 / std::max(preflight_.per_item_s, 1e-12));
    }
    RETURN_IF_ERROR(Write(&row));
  }
  pending_.clear();
  return absl::OkStatus();
}

absl::Status JobRun::WriteFailure(const absl::Status& failure,
                                  const std::vector<int>& run_indexes) {
  for (const int run_index : run_indexes) {
    Row row = NewRow(run_index);
    SetFailure(failure, &row);
    RETURN_IF_ERROR(Write(&row));
  }
  return absl::OkStatus();
}

absl::Status JobRun::Prepare() {
  RETURN_IF_ERROR(found_policy_.status());
  return work_->Prepare();
}

absl::Status JobRun::CheckEquivalence() {
  if (context_.equivalence == nullptr) return absl::OkStatus();
  const TimeAccount::Entry entry(context_.account, Spending::kEquivalence);
  ASSIGN_OR_RETURN(equivalence_, work_->CheckEquivalence());
  return absl::OkStatus();
}

absl::Status JobRun::TryBegin() {
  End();
  RETURN_IF_ERROR(Prepare());
  {
    const TimeAccount::Entry entry(context_.account, Spending::kPreflight);
    ASSIGN_OR_RETURN(preflight_, work_->LookAhead());
    has_preflight_ = true;
  }
  RETURN_IF_ERROR(CheckEquivalence());
  if (preflight_.stops_early) return absl::OkStatus();
  const TimeAccount::Entry entry(context_.account, Spending::kWarmUp);
  return work_->WarmUp();
}

absl::Status JobRun::Begin() {
  row_start_ = absl::Now();
  for (int tries = 0;; ++tries) {
    const absl::Status begun = TryBegin();
    if (EndsTheRun(begun)) return begun;
    if (begun.ok()) break;
    RETURN_IF_ERROR(WriteFailure(begun, pending_));
    if (tries < context_.limits.retries) continue;
    pending_.clear();
    End();
    return absl::OkStatus();
  }
  if (!preflight_.stops_early) return absl::OkStatus();
  RETURN_IF_ERROR(Answer("early_stopped", preflight_.reason));
  End();
  return absl::OkStatus();
}

absl::Status JobRun::MeasureOnce(int run_index, Row* measured) {
  row_start_ = absl::Now();
  if (!work_->alive()) {
    // The last run was its end; this one has a right to its own.
    RETURN_IF_ERROR(TryBegin());
    row_start_ = absl::Now();
  }
  return work_->Measure(run_index, measured);
}

absl::Status JobRun::Measure(int run_index) {
  const MeasuringPolicy& measuring = context_.catalogue.policy().measuring();
  int failures = 0;
  int attempts = 0;
  double first_s = 0;
  double repeated_s = 0;
  while (true) {
    Row measured;
    const absl::Status status = MeasureOnce(run_index, &measured);
    if (EndsTheRun(status)) return status;
    if (!status.ok()) {
      RETURN_IF_ERROR(WriteFailure(status, {run_index}));
      if (failures++ < context_.limits.retries) continue;
      break;
    }
    Row row = NewRow(run_index);
    row.MergeFrom(measured);
    RETURN_IF_ERROR(Write(&row));
    const double elapsed_s = measured.elapsed_s();
    (attempts == 0 ? first_s : repeated_s) += elapsed_s;
    ++attempts;
    if (!Contains(measured.warnings(), kNoisy) || IsNullJob(job_) ||
        attempts >= measuring.max_attempts() ||
        repeated_s + elapsed_s >
            1.001 * measuring.repeat_budget() * std::max(first_s, elapsed_s)) {
      break;
    }
  }
  pending_.erase(std::remove(pending_.begin(), pending_.end(), run_index),
                 pending_.end());
  return absl::OkStatus();
}

void JobRun::End() {
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  work_->End();
}

}  // namespace feedrate
