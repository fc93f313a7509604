#include "lib/runner/core/job_run.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/xoshiro.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/draw/text.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_list.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/core/workers.h"

namespace feedrate {
namespace {

constexpr char kNoisy[] = "noisy";
// Share of the available memory that is left to the rest of the machine.
constexpr double kSpareMemoryShare = 0.1;
// Each has some open files.
constexpr size_t kMostProcesses = 64;

bool EndsTheRun(const absl::Status& status) {
  return status.code() == absl::StatusCode::kCancelled;
}

template <typename Values, typename Value>
bool Contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

JobRun::JobRun(const RunContext* context, const Job& job)
    : context_(*context),
      job_(job),
      mode_(FindMode(context_.modes, job_)),
      found_policy_(mode_->UsesServers() ? JobPolicyOf(context_.catalogue, job_,
                                                       context_.limits.hang_s)
                                         : JobPolicy()),
      policy_(found_policy_.ok() ? *found_policy_ : JobPolicy()),
      work_(mode_->MakeWork(context_, job_, policy_)),
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

void JobRun::StartRow() {
  row_start_ = absl::Now();
  row_watch_ = Stopwatch();
}

absl::Status JobRun::Write(Row* row) {
  if (equivalence_.label() == "noop") row->add_warnings("noop");
  row->set_duration_s(row_watch_.Seconds());
  StartRow();
  RETURN_IF_ERROR(mode_->FinishRow(context_, job_, row));
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
      row.set_slow_threshold_s(preflight_.slow_from_s.value_or(0));
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
    has_preflight_ = mode_->UsesServers();
  }
  RETURN_IF_ERROR(CheckEquivalence());
  if (preflight_.stops_early) return absl::OkStatus();
  const TimeAccount::Entry entry(context_.account, Spending::kWarmUp);
  return work_->WarmUp();
}

absl::Status JobRun::Begin() {
  StartRow();
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
  StartRow();
  if (!work_->alive()) {
    // The process died in the last run; this run gets a new one.
    RETURN_IF_ERROR(TryBegin());
    StartRow();
  }
  return work_->Measure(run_index, measured);
}

bool JobRun::CanAfford(double seconds) const {
  if (StableWithin(context_) == 0) return false;
  const double budget =
      context_.catalogue.policy().measuring().repeat_budget() *
      std::max(planned_s_, seconds);
  // Sums of equal times differ in their last digits.
  return extra_s_ + seconds <= 1.001 * budget;
}

bool JobRun::IsUnstable() const {
  if (IsNullJob(job_) || !mode_->UsesServers()) return false;
  std::vector<double> values;
  for (const auto& [index, value] : throughputs_) values.push_back(value);
  return MedianIsWide(std::move(values), StableWithin(context_));
}

absl::Status JobRun::Measure(int run_index) {
  const MeasuringPolicy& measuring = context_.catalogue.policy().measuring();
  const bool is_planned = Contains(job_.run_indexes(), run_index);
  int failures = 0;
  int attempts = 0;
  double elapsed_s = 0;
  while (true) {
    Row measured;
    const double waited_before_s = context_.quiet->waited_s();
    if (mode_->UsesServers()) context_.quiet->Wait();
    const absl::Status status = MeasureOnce(run_index, &measured);
    if (EndsTheRun(status)) return status;
    if (!status.ok()) {
      RETURN_IF_ERROR(WriteFailure(status, {run_index}));
      if (failures++ < context_.limits.retries) continue;
      break;
    }
    Row row = NewRow(run_index);
    row.MergeFrom(measured);
    // The kernel's counters have ticks, so in a short run of a loader they show
    // nothing. What the machine was like just before it stands in.
    const std::vector<std::string>& causes = context_.quiet->causes();
    if (row.has_loader() && !row.has_noise() && !causes.empty() &&
        row.elapsed_s() < measuring.min_judged_s()) {
      row.add_warnings("contended");
      row.mutable_noise()->mutable_causes()->Assign(causes.begin(),
                                                    causes.end());
    }
    if (row.has_noise()) {
      row.mutable_noise()->set_waited_s(context_.quiet->waited_s() -
                                        waited_before_s);
      row.mutable_noise()->set_began_quiet(context_.quiet->quiet());
      context_.quiet->Doubt();
    }
    RETURN_IF_ERROR(Write(&row));
    elapsed_s = measured.elapsed_s();
    (is_planned && attempts == 0 ? planned_s_ : extra_s_) += elapsed_s;
    throughputs_[run_index] = measured.throughput();
    ++attempts;
    // A repeated run of a mixture would write its batches twice, and one of a
    // training may take hours.
    if (!Contains(measured.warnings(), kNoisy) || IsNullJob(job_) ||
        IsMixtureJob(job_) || !mode_->UsesServers() ||
        attempts >= measuring.max_attempts() || !CanAfford(elapsed_s)) {
      break;
    }
  }
  pending_.erase(std::remove(pending_.begin(), pending_.end(), run_index),
                 pending_.end());
  if (attempts > 0 && pending_.empty() && IsUnstable() &&
      CanAfford(elapsed_s)) {
    const int next = throughputs_.rbegin()->first + 1;
    pending_.push_back(next);
    next_attempt_[next] = context_.done->NextAttempt(job_.job_id(), next);
  }
  return absl::OkStatus();
}

void JobRun::End() {
  const TimeAccount::Entry entry(context_.account, Spending::kPrepare);
  work_->End();
}

namespace {

// The job's identity without the fields of the library.
std::string GroupKey(const Job& job) {
  Job key = job;
  key.clear_library();
  key.clear_params_sha256();
  // Settings of mixtures differ by less than the speed of a machine does from
  // one minute to the next, so they also take turns.
  if (IsMixtureJob(job)) key.clear_settings();
  // Containers are compared with each other.
  key.mutable_settings()->erase(kContainerSetting);
  return CanonicalIdentity(key);
}

// The jobs of a group.
using Runs = std::vector<std::unique_ptr<JobRun>>;

// The smallest index of a pending run. Absent if none is pending.
std::optional<int> NextRun(absl::Span<const Runs> groups) {
  std::optional<int> next;
  for (const Runs& runs : groups) {
    for (const auto& run : runs) {
      for (const int index : run->pending()) {
        next = std::min(next.value_or(index), index);
      }
    }
  }
  return next;
}

// Measures the runs with this index.
absl::Status MeasureEach(const Runs& runs, int index,
                         const std::function<void(const Job&)>& begins) {
  if (runs.empty()) return absl::OkStatus();
  const uint64_t seed = runs[0]->job().seed() * 7919 + index;
  for (const int at : ShuffledOrder(runs.size(), seed)) {
    JobRun& run = *runs[at];
    if (!Contains(run.pending(), index)) continue;
    begins(run.job());
    RETURN_IF_ERROR(run.Measure(index));
    // Frees its memory for the others.
    if (run.pending().empty()) run.End();
  }
  return absl::OkStatus();
}

absl::Status RunTogether(absl::Span<const Runs> groups,
                         const std::function<void(const Job&)>& begins) {
  for (const Runs& runs : groups) {
    for (const std::unique_ptr<JobRun>& run : runs) {
      begins(run->job());
      RETURN_IF_ERROR(run->Begin());
    }
    // At once, so that rows come before all jobs have begun.
    const std::optional<int> index = NextRun(absl::MakeSpan(&runs, 1));
    if (index.has_value()) {
      RETURN_IF_ERROR(MeasureEach(runs, *index, begins));
    }
  }
  // A run may make another one pending.
  for (std::optional<int> index = NextRun(groups); index.has_value();
       index = NextRun(groups)) {
    for (const Runs& runs : groups) {
      RETURN_IF_ERROR(MeasureEach(runs, *index, begins));
    }
  }
  return absl::OkStatus();
}

// Runs the jobs one after the other, each alone.
absl::Status RunInTurns(Runs runs,
                        const std::function<void(const Job&)>& begins) {
  for (std::unique_ptr<JobRun>& run : runs) {
    run->AddLabel("memory_limited");
    std::vector<Runs> alone(1);
    alone[0].push_back(std::move(run));
    RETURN_IF_ERROR(RunTogether(alone, begins));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::vector<int>> GroupJobs(const std::vector<Job>& jobs) {
  std::vector<std::vector<int>> groups;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto [entry, is_new] =
        known.emplace(GroupKey(jobs[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(static_cast<int>(i));
  }
  return groups;
}

std::vector<int> ShuffledOrder(int count, uint64_t seed) {
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  SplitMix64 random(seed);
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[i], order[random.Next() % (i + 1)]);
  }
  return order;
}

absl::Status RunGroups(const RunContext& context,
                       absl::Span<const std::vector<const Job*>> jobs,
                       const std::function<void(const Job&)>& begins) {
  std::vector<Runs> groups(jobs.size());
  Runs unsupported;
  std::vector<int64_t> memory;
  std::vector<int64_t> gpu_memory;
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (const Job* job : jobs[i]) {
      auto run = std::make_unique<JobRun>(&context, *job);
      if (run->pending().empty()) continue;
      if (job->has_unsupported_reason()) {
        unsupported.push_back(std::move(run));
        continue;
      }
      ASSIGN_OR_RETURN(memory.emplace_back(), run->ExpectedMemory());
      ASSIGN_OR_RETURN(gpu_memory.emplace_back(), run->ExpectedGpuMemory());
      groups[i].push_back(std::move(run));
    }
  }
  const std::optional<int64_t> available = ReadAvailableMemory(Root());
  const int64_t gpu_available = context.identity.gpu_memory_bytes;
  // Memory needs are estimates. Several jobs at once may plan with half of the
  // available memory, so that a wrong estimate does not exhaust it.
  const int64_t share = jobs.size() > 1 ? 2 : 1;
  const bool fit =
      (!available.has_value() || FitInMemory(memory, *available / share)) &&
      (gpu_available == 0 || FitInMemory(gpu_memory, gpu_available));
  if (jobs.size() > 1 && (!fit || memory.size() > kMostProcesses)) {
    const size_t half = jobs.size() / 2;
    groups.clear();
    RETURN_IF_ERROR(RunGroups(context, jobs.first(half), begins));
    return RunGroups(context, jobs.subspan(half), begins);
  }
  for (const std::unique_ptr<JobRun>& run : unsupported) {
    RETURN_IF_ERROR(
        run->Answer("unsupported", run->job().unsupported_reason()));
  }
  return fit ? RunTogether(groups, begins)
             : RunInTurns(std::move(groups[0]), begins);
}

namespace {

Verification VerificationOf(const Job& job) {
  Verification verification;
  verification.set_scenario(job.scenario());
  verification.set_library(job.library());
  verification.set_transform(job.transform());
  verification.set_params_profile(job.params_profile());
  verification.set_env_set(job.env_set());
  verification.set_device(job.device());
  verification.set_status("ok");
  return verification;
}

void AddOnce(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->push_back(name);
  }
}

std::string LabelOf(const Verification& verification) {
  return verification.status() == "ok" ? verification.equivalence().label()
                                       : verification.status();
}

std::string WhyText(const Verification& verification) {
  const std::string& label = verification.equivalence().label();
  if (verification.status() != "ok") return verification.reason();
  return label == "exact" || label == "equivalent"
             ? ""
             : verification.equivalence().reference();
}

}  // namespace

absl::StatusOr<std::vector<Verification>> VerifyJobs(
    const RunContext& context, const std::vector<Job>& jobs,
    const std::function<void(const Job&)>& begins) {
  std::vector<Verification> verifications;
  for (const Job& job : jobs) {
    begins(job);
    Verification& verification =
        verifications.emplace_back(VerificationOf(job));
    if (job.has_unsupported_reason()) {
      verification.set_status("unsupported");
      verification.set_reason(job.unsupported_reason());
      continue;
    }
    JobRun run(&context, job);
    absl::Status status = run.Prepare();
    if (status.ok()) status = run.CheckEquivalence();
    if (status.code() == absl::StatusCode::kCancelled) return status;
    verification.set_library_version(context.servers->VersionOf(job));
    if (status.ok()) {
      *verification.mutable_equivalence() = run.equivalence();
    } else {
      verification.set_status(StatusOfFailure(status));
      verification.set_reason(std::string(status.message()));
    }
  }
  return verifications;
}

std::string VerificationTable(const std::vector<Verification>& verifications) {
  std::vector<std::string> libraries, transforms;
  // Settings, such as those of a sweep, may differ in their outputs.
  struct Cell {
    std::vector<std::string> labels, reasons;
  };
  std::map<std::pair<std::string, std::string>, Cell> cells;
  for (const Verification& verification : verifications) {
    AddOnce(verification.library(), &libraries);
    AddOnce(verification.transform(), &transforms);
    Cell& cell = cells[{verification.transform(), verification.library()}];
    const std::string label = LabelOf(verification);
    AddOnce(label, &cell.labels);
    const std::string why = WhyText(verification);
    if (!why.empty()) {
      AddOnce(absl::StrCat(label, ": ", why), &cell.reasons);
    }
  }
  std::vector<std::string> header = {"transform"};
  header.insert(header.end(), libraries.begin(), libraries.end());
  Table table(header, std::vector<Align>(header.size(), Align::kLeft));
  std::string reasons;
  for (const std::string& transform : transforms) {
    std::vector<std::string> row = {transform};
    for (const std::string& library : libraries) {
      const auto cell = cells.find({transform, library});
      if (cell == cells.end()) {
        row.emplace_back("–");
        continue;
      }
      row.push_back(absl::StrJoin(cell->second.labels, ", "));
      for (const std::string& reason : cell->second.reasons) {
        absl::StrAppend(&reasons, transform, ", ", library, ": ", reason, "\n");
      }
    }
    table.AddRow(std::move(row));
  }
  return absl::StrCat(table.ToText(), reasons.empty() ? "" : "\n",
                      PrintableLines(reasons));
}

std::string VerificationSummary(
    const std::vector<Verification>& verifications) {
  std::map<std::string, int64_t> counts;
  for (const Verification& verification : verifications) {
    ++counts[LabelOf(verification)];
  }
  return absl::StrCat(Counted(verifications.size(), "output"), " (",
                      absl::StrJoin(counts, ", ",
                                    [](std::string* out, const auto& count) {
                                      absl::StrAppend(out, count.second, " ",
                                                      count.first);
                                    }),
                      ")");
}

bool FitInMemory(const std::vector<int64_t>& needed, int64_t available_bytes) {
  const int64_t total =
      std::accumulate(needed.begin(), needed.end(), int64_t{0});
  // A single process runs in any case.
  return needed.size() <= 1 ||
         static_cast<double>(total) <=
             (1 - kSpareMemoryShare) * static_cast<double>(available_bytes);
}

}  // namespace feedrate
