#include "lib/analysis/coverage/findings.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/base/status_macros.h"
#include "lib/records/job.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

constexpr bool kError = true;
constexpr bool kWarning = false;
constexpr bool kGap = true;
constexpr bool kNoGap = false;

// In the order of the enum.
constexpr CoverageCodeInfo kInfos[kCoverageCodes] = {
    {"missing", kError, kGap, "measure it; --fix=jobs prints the job"},
    {"too_few_runs", kError, kGap,
     "measure the runs that are not there; --fix=jobs prints them"},
    {"failed", kError, kGap,
     "mend what the reason names and measure again; --fix=jobs prints the job"},
    {"wrong_hardware", kError, kGap,
     "take the row out and measure on the machine that the plan names"},
    {"batch_size", kError, kGap,
     "measure with the planned batch size, or label the row exploratory"},
    {"settings", kError, kGap,
     "take the row out and measure again: its id and its fields disagree"},
    {"unsupported", kError, kGap,
     "measure it, or add an exception with a reason to configs/matrix."
     "textproto"},
    {"supported", kError, kNoGap,
     "find out what ran; when it does work, take the exception out of "
     "configs/matrix.textproto"},
    {"duplicate", kError, kNoGap,
     "keep the rows of one setting; --machine_profile= chooses a machine"},
    {"mixed", kError, kNoGap,
     "measure all runs of a job with the same settings; --machine_profile= "
     "chooses a machine"},
    {"noop", kError, kGap,
     "the output is the input: mend the adapter or its parameters, then "
     "measure again"},
    {"zero", kError, kGap,
     "nothing takes no time: take the row out and measure again"},
    {"above_copy", kError, kGap,
     "look whether the output is materialised and all items are processed, "
     "then measure again"},
    {"above_limit", kError, kGap,
     "look whether row or limit is wrong, then measure again"},
    {"identical", kError, kGap,
     "one of them is a copy: take both out and measure again"},
    {"video_speed", kError, kGap,
     "look whether all frames are processed, then measure again"},
    {"torn_line", kError, kNoGap,
     "the writer died here: run it again with --resume, or delete the line"},
    {"broken_line", kError, kNoGap,
     "copy the file again from where it was written, or delete the line"},
    {"rescued_line", kWarning, kNoGap,
     "nothing is lost but the torn beginning; delete it to be rid of this"},
    {"repeated", kWarning, kNoGap, "keep one of the rows"},
    {"other_settings", kWarning, kNoGap,
     "they count for nothing; measure with the planned settings, or leave them "
     "out of the tables"},
    {"few_runs", kWarning, kNoGap,
     "top up with plan --num_runs=3 --existing=ROWS before it is published"},
    {"noisy", kWarning, kNoGap,
     "measure it again on a quiet machine; --fix=noisy prints the jobs"},
};

}  // namespace

const CoverageCodeInfo& InfoOf(CoverageCode code) {
  return kInfos[static_cast<int>(code)];
}

CoverageFinding* CoverageFindings::New(CoverageCode code) {
  const CoverageCodeInfo& info = InfoOf(code);
  has_errors_ |= info.is_error;
  CoverageFinding& finding = findings_[static_cast<int>(code)].emplace_back();
  finding.set_code(info.name);
  finding.set_severity(info.is_error ? "error" : "warning");
  finding.set_remedy(info.remedy);
  return &finding;
}

void CoverageFindings::AddRun(CoverageCode code, int index, const Job& job,
                              int32_t run_index, const std::string& place,
                              const std::string& what) {
  if (InfoOf(code).is_gap) gaps_[index].insert(run_index);
  if (code == CoverageCode::kNoisy) noisy_[index].insert(run_index);
  auto& same_code = findings_[static_cast<int>(code)];
  if (!same_code.empty() && same_code.back().job_id() == job.job_id() &&
      same_code.back().what() == what) {
    same_code.back().add_run_indexes(run_index);
    return;
  }
  CoverageFinding* finding = New(code);
  finding->set_job_id(job.job_id());
  finding->set_subject(Subject(job));
  finding->add_run_indexes(run_index);
  finding->set_place(place);
  finding->set_what(what);
}

void CoverageFindings::Add(CoverageCode code, const std::string& subject,
                           const std::string& place, const std::string& what) {
  CoverageFinding* finding = New(code);
  finding->set_subject(subject);
  finding->set_place(place);
  finding->set_what(what);
}

const std::set<int32_t>* CoverageFindings::GapsOf(int job) const {
  const auto found = gaps_.find(job);
  return found == gaps_.end() ? nullptr : &found->second;
}

int64_t CoverageFindings::total_gaps() const {
  int64_t total = 0;
  for (const auto& [job, runs] : gaps_) total += runs.size();
  return total;
}

void CoverageFindings::MoveTo(Coverage* record) {
  for (auto& same_code : findings_) {
    if (same_code.empty()) continue;
    CoverageCount* count = record->add_counts();
    count->set_code(same_code.front().code());
    count->set_severity(same_code.front().severity());
    count->set_findings(same_code.size());
    for (CoverageFinding& finding : same_code) {
      *record->add_findings() = std::move(finding);
    }
    same_code.clear();
  }
}

absl::Status CoverageFindings::ForEachFix(
    const PlannedJobs& jobs, bool noisy,
    const std::function<absl::Status(const Job&)>& emit) const {
  for (const auto& [index, runs] : noisy ? noisy_ : gaps_) {
    Job job = jobs.Get(index);
    const double share =
        static_cast<double>(runs.size()) / jobs.runs(index).size();
    job.set_cost_s(job.cost_s() * share);
    job.mutable_run_indexes()->Assign(runs.begin(), runs.end());
    RETURN_IF_ERROR(emit(job));
  }
  return absl::OkStatus();
}

int CoverageGroups::GroupOf(const Job& job) {
  const auto key = std::make_tuple(job.scenario(), job.mode(), job.scope(),
                                   PlaceOf(job), job.library());
  const auto [entry, is_new] =
      index_.try_emplace(key, static_cast<int>(groups_.size()));
  if (is_new) {
    CoverageGroup& group = groups_.emplace_back();
    group.set_scenario(job.scenario());
    group.set_mode(job.mode());
    group.set_scope(job.scope());
    group.set_device(PlaceOf(job));
    group.set_library(job.library());
  }
  return entry->second;
}

void CoverageGroups::Add(const Job& job, const JobFlags& flags,
                         size_t ok_runs) {
  group_of_.push_back(GroupOf(job));
  flags_.push_back(flags);
  if (ok_runs > 0) ++runs_[group_of_.back()][ok_runs];
}

void CoverageGroups::AddFewRuns(size_t enough,
                                CoverageFindings* findings) const {
  for (const auto& [index, by_runs] : runs_) {
    const CoverageGroup& g = groups_[index];
    for (const auto& [runs, jobs] : by_runs) {
      if (runs >= enough) continue;
      findings->Add(CoverageCode::kFewRuns,
                    absl::StrJoin({g.scenario(), g.mode(), g.scope(),
                                   g.device(), g.library()},
                                  " "),
                    "",
                    absl::StrCat(jobs, jobs == 1 ? " job has" : " jobs have",
                                 " only ", runs, runs == 1 ? " run" : " runs",
                                 "; under ", enough, " the spread is unknown"));
    }
  }
}

void CoverageGroups::WriteTo(const CoverageFindings& findings,
                             Coverage* record) const {
  for (const CoverageGroup& group : groups_) *record->add_groups() = group;
  int64_t complete = 0;
  for (int i = 0; i < group_of_.size(); ++i) {
    CoverageGroup& group = *record->mutable_groups(group_of_[i]);
    const JobFlags& flags = flags_[i];
    const bool has_gap = findings.GapsOf(i) != nullptr;
    const bool explained = flags.missing || flags.partial || flags.failed;
    group.set_jobs(group.jobs() + 1);
    group.set_complete(group.complete() + !has_gap);
    group.set_missing(group.missing() + flags.missing);
    group.set_partial(group.partial() + flags.partial);
    group.set_failed(group.failed() + flags.failed);
    group.set_rejected(group.rejected() + (has_gap && !explained));
    group.set_unsupported(group.unsupported() + flags.unsupported);
    group.set_early_stopped(group.early_stopped() + flags.early_stopped);
    group.set_noisy(group.noisy() + flags.noisy);
    complete += !has_gap;
  }
  record->set_jobs_complete(complete);
}

}  // namespace feedrate
