#include "lib/gate/duel/undecided_jobs.h"

#include <set>
#include <string>
#include <vector>

#include "lib/gate/verdict/verdicts.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

bool UndecidedJobs::Has(const Contest& contest,
                        const std::string& job_id) const {
  return jobs_.empty() || jobs_.count({contest.name(), job_id}) > 0;
}

bool UndecidedJobs::GoesOn(const Contest& contest) const {
  const auto next = jobs_.lower_bound({contest.name(), ""});
  return jobs_.empty() ||
         (next != jobs_.end() && next->first == contest.name());
}

std::set<std::string> UndecidedJobs::JobsOf(
    const std::vector<Contest>& contests) const {
  std::set<std::string> ids;
  for (const Contest& contest : contests) {
    for (const auto& [name, id] : jobs_) {
      if (name == contest.name()) ids.insert(id);
    }
  }
  return ids;
}

UndecidedJobs UndecidedJobs::After(const PairedRows& rows,
                                   const MetricChoice& metrics,
                                   const PairedOptions& judging,
                                   int look) const {
  const PairedDesign design = DesignOf(rows, judging);
  const PairedDesign metric_design = MetricDesignOf(rows, design);
  UndecidedJobs next;
  for (const PairedJob& job : rows.jobs()) {
    if (job.Differences().empty()) continue;
    if (!job.a_problems.empty() || !job.b_problems.empty()) continue;
    // Jobs that already have a verdict have fewer pairs than the look.
    if (look > 0 && jobs_.count({job.contest, job.job_id}) == 0) continue;
    if (IsUndecided(job, metrics, design, metric_design, look)) {
      next.Add(job.contest, job.job_id);
    }
  }
  return next;
}

}  // namespace feedrate
