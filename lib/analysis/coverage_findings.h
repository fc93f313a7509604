// Findings as they are made, and the gaps that follow from them.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_FINDINGS_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_FINDINGS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/records/records.pb.h"

namespace feedrate {

class CoverageFindings {
 public:
  // One about a run of a job. Those of one job that say the same become one.
  void AddRun(CoverageCode code, int index, const Job& job, int32_t run_index,
              const std::string& place, const std::string& what);
  // One about something else.
  void Add(CoverageCode code, const std::string& subject,
           const std::string& place, const std::string& what);

  bool has_errors() const { return has_errors_; }
  // Runs of a job that have to be made. Null: none.
  const std::set<int32_t>* GapsOf(int job) const;
  int64_t total_gaps() const;

  // Moves everything into `record`, by code, then as it came.
  void MoveTo(Coverage* record);

  // Calls `emit` for each job with a gap, in the order of the plan, with
  // nothing but the runs to be made and the cost cut down to them.
  absl::Status ForEachFix(
      const PlannedJobs& jobs,
      const std::function<absl::Status(const Job&)>& emit) const;

 private:
  CoverageFinding* New(CoverageCode code);

  std::array<std::vector<CoverageFinding>, kCoverageCodes> findings_;
  std::map<int, std::set<int32_t>> gaps_;
  bool has_errors_ = false;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_FINDINGS_H_
