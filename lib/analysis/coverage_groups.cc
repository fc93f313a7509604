#include "lib/analysis/coverage_groups.h"

#include <cstddef>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/records/records.pb.h"

namespace feedrate {

int CoverageGroups::GroupOf(const Job& job) {
  const auto key = std::make_tuple(job.scenario(), job.mode(), job.scope(),
                                   job.device(), job.library());
  const auto [entry, is_new] =
      index_.try_emplace(key, static_cast<int>(groups_.size()));
  if (is_new) {
    CoverageGroup& group = groups_.emplace_back();
    group.set_scenario(job.scenario());
    group.set_mode(job.mode());
    group.set_scope(job.scope());
    group.set_device(job.device());
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
    complete += !has_gap;
  }
  record->set_jobs_complete(complete);
}

}  // namespace feedrate
