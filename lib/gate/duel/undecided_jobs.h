// The jobs of a duel that go on after a look, because they have no verdict.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// Contests and their jobs. An empty one stands for all jobs of all contests,
// as before the first look.
class UndecidedJobs {
 public:
  void Add(const std::string& contest, const std::string& job_id) {
    jobs_.insert({contest, job_id});
  }

  bool empty() const { return jobs_.empty(); }
  size_t size() const { return jobs_.size(); }
  bool Has(const Contest& contest, const std::string& job_id) const;
  // Whether the contest has a job that goes on.
  bool GoesOn(const Contest& contest) const;
  // Only what was added: nothing, if this stands for all.
  std::set<std::string> JobsOf(const std::vector<Contest>& contests) const;

  // Those of them that `rows` do not decide in the look of this index.
  UndecidedJobs After(const PairedRows& rows, const MetricChoice& metrics,
                      const PairedOptions& judging, int look) const;

 private:
  std::set<std::pair<std::string, std::string>> jobs_;
};

}  // namespace feedrate
