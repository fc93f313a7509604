#include "lib/runner/job_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/preflight.h"
#include "lib/measure/warm_up.h"
#include "lib/runner/child_subject.h"
#include "lib/runner/decode_row.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/prepare_command.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

constexpr char kNoisy[] = "noisy";
constexpr char kNullLibrary[] = "null";

bool EndsTheRun(const absl::Status& status) {
  return status.code() == absl::StatusCode::kCancelled;
}

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

JobRun::JobRun(const RunContext* context, const Job& job)
    : context_(*context),
      job_(job),
      found_policy_(JobPolicyOf(context_.catalogue, context_.execution, job_,
                                context_.limits.hang_s)),
      row_start_(absl::Now()) {
  if (found_policy_.ok()) policy_ = *found_policy_;
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

uint64_t JobRun::SeedOf(int run_index) const {
  // Runs differ in what they draw; libraries of one run do not.
  return static_cast<uint64_t>(job_.seed()) * 1000003 + run_index;
}

Row JobRun::NewRow(int run_index) {
  Row row = RowOf(job_, context_.identity, policy_.unit);
  if (!input_.dataset.id().empty()) *row.mutable_dataset() = input_.dataset;
  for (const std::string& label : labels_) row.add_labels(label);
  row.set_run_index(run_index);
  row.set_attempt(next_attempt_[run_index]++);
  row.set_library_version(version_.empty() ? context_.servers->VersionOf(job_)
                                           : version_);
  row.set_timed_unit("item");
  if (has_preflight_) row.set_preflight_s(preflight_.elapsed_s);
  if (!equivalence_.label().empty()) {
    *row.mutable_equivalence() = equivalence_;
    if (equivalence_.label() == "noop") row.add_warnings("noop");
  }
  row.set_started_at(TimeText(row_start_));
  return row;
}

absl::Status JobRun::Write(Row* row) {
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
  ASSIGN_OR_RETURN(const PrepareCommand command,
                   PrepareCommandOfJob(context_.catalogue, job_));
  LibraryServer* server = nullptr;
  {
    const TimeAccount::Entry entry(context_.account, Spending::kImport);
    ASSIGN_OR_RETURN(server, context_.servers->Get(job_));
  }
  {
    const TimeAccount::Entry entry(context_.account, Spending::kMedia);
    ASSIGN_OR_RETURN(input_, context_.corpora->Get(job_));
  }
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  num_items_ = job_.num_items() == 0 ? input_.size : job_.num_items();
  ASSIGN_OR_RETURN(child_,
                   MeasuredChild::Spawn(server, job_.library(), input_.fd,
                                        context_.limits.memory_bytes));
  const double limit_s =
      context_.limits.hang_s > 0
          ? context_.limits.hang_s
          : context_.catalogue.policy().measuring().prepare_limit_s();
  ASSIGN_OR_RETURN(const PrepareReply reply,
                   child_->Prepare(command, absl::Seconds(limit_s)));
  version_ = reply.version;
  subject_ = std::make_unique<ChildSubject>(child_.get(), reply.clock_pair_s);
  return absl::OkStatus();
}

absl::Status JobRun::CheckEquivalence() {
  if (context_.equivalence == nullptr) return absl::OkStatus();
  const TimeAccount::Entry entry(context_.account, Spending::kEquivalence);
  if (IsDecodeJob(job_)) {
    ASSIGN_OR_RETURN(equivalence_,
                     CheckDecoder(context_, job_, input_,
                                  absl::Seconds(policy_.warm_up.hang_s),
                                  child_.get(), &decode_));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(equivalence_,
                   context_.equivalence->Check(
                       job_, version_, input_,
                       absl::Seconds(policy_.warm_up.hang_s), child_.get()));
  return absl::OkStatus();
}

absl::Status JobRun::WarmUpJob() {
  const TimeAccount::Entry entry(context_.account, Spending::kWarmUp);
  ASSIGN_OR_RETURN(warm_up_, RunWarmUp(policy_.warm_up, num_items_, SeedOf(0),
                                       subject_.get()));
  return absl::OkStatus();
}

absl::Status JobRun::TryBegin() {
  End();
  RETURN_IF_ERROR(Prepare());
  {
    const TimeAccount::Entry entry(context_.account, Spending::kPreflight);
    ASSIGN_OR_RETURN(preflight_,
                     RunPreflight(policy_.preflight, num_items_, SeedOf(0),
                                  policy_.unit, subject_.get()));
    has_preflight_ = true;
  }
  RETURN_IF_ERROR(CheckEquivalence());
  if (preflight_.stops_early) return absl::OkStatus();
  return WarmUpJob();
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

absl::Status JobRun::MeasureOnce(int run_index, RunResult* result) {
  row_start_ = absl::Now();
  if (child_ == nullptr || !child_->alive()) {
    // The last run was its end; this one has a right to its own.
    RETURN_IF_ERROR(TryBegin());
    row_start_ = absl::Now();
  }
  RunRequest request;
  request.num_items = num_items_;
  request.chunk = policy_.chunk;
  // Its row is to say what one timing costs, so the clock is read each time.
  if (job_.library() == kNullLibrary) request.chunk.chunk_below_s = 0;
  request.per_call_s = warm_up_.per_item_s;
  request.seed = SeedOf(run_index);
  request.rewarm_items = policy_.warm_up.subset_items;
  request.hang_s = policy_.warm_up.hang_s;
  const TimeAccount::Entry entry(context_.account, Spending::kTimed);
  ASSIGN_OR_RETURN(*result,
                   MeasureRun(request, subject_.get(), context_.noise));
  return absl::OkStatus();
}

void JobRun::AddMeasured(Row* row) {
  if (equivalence_.label() == "noop") row->add_warnings("noop");
  const ProcessCounters counters =
      ReadProcessCounters(Root(), static_cast<pid_t>(child_->pid()));
  if (counters.rss_peak_bytes.has_value()) {
    row->set_rss_peak_bytes(*counters.rss_peak_bytes);
  }
  if (job_.library() == kNullLibrary) return;
  if (IsDecodeJob(job_)) return AddDecode(context_, input_, decode_, row);
  const std::optional<double> limit =
      context_.copy_limit->Of(job_, *input_.corpus);
  if (!limit.has_value()) return;
  row->mutable_limit()->set_name("copy");
  row->mutable_limit()->set_throughput(*limit);
  row->set_of_limit(row->throughput() / *limit);
}

absl::Status JobRun::Measure(int run_index) {
  const MeasuringPolicy& measuring = context_.catalogue.policy().measuring();
  int failures = 0;
  int attempts = 0;
  double first_s = 0;
  double repeated_s = 0;
  while (true) {
    RunResult result;
    const absl::Status measured = MeasureOnce(run_index, &result);
    if (EndsTheRun(measured)) return measured;
    if (!measured.ok()) {
      RETURN_IF_ERROR(WriteFailure(measured, {run_index}));
      if (failures++ < context_.limits.retries) continue;
      break;
    }
    Row row = NewRow(run_index);
    SetTiming(result, &row);
    AddMeasured(&row);
    RETURN_IF_ERROR(Write(&row));
    (attempts == 0 ? first_s : repeated_s) += result.elapsed_s;
    ++attempts;
    if (!Contains(result.warnings, kNoisy) || job_.library() == kNullLibrary ||
        attempts >= measuring.max_attempts() ||
        repeated_s + result.elapsed_s >
            1.001 * measuring.repeat_budget() *
                std::max(first_s, result.elapsed_s)) {
      break;
    }
  }
  pending_.erase(std::remove(pending_.begin(), pending_.end(), run_index),
                 pending_.end());
  return absl::OkStatus();
}

void JobRun::End() {
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  subject_ = nullptr;
  child_ = nullptr;
}

}  // namespace feedrate
