#include "lib/analysis/coverage_findings.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/base/status_macros.h"
#include "lib/records/records.pb.h"

namespace feedrate {

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
    const PlannedJobs& jobs,
    const std::function<absl::Status(const Job&)>& emit) const {
  for (const auto& [index, runs] : gaps_) {
    Job job = jobs.Get(index);
    const double share =
        static_cast<double>(runs.size()) / jobs.runs(index).size();
    job.set_cost_s(job.cost_s() * share);
    job.mutable_run_indexes()->Assign(runs.begin(), runs.end());
    RETURN_IF_ERROR(emit(job));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
