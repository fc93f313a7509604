// How each library stands in each part of the plan.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_GROUPS_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lib/analysis/coverage_findings.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// What became of a job.
struct JobFlags {
  bool missing = false;
  bool partial = false;
  bool failed = false;
  bool unsupported = false;
  bool early_stopped = false;
};

class CoverageGroups {
 public:
  // Notes the next job of the plan. `ok_runs`: how many runs were measured.
  void Add(const Job& job, const JobFlags& flags, size_t ok_runs);

  // One warning a group for jobs with some, but less than `enough` runs.
  void AddFewRuns(size_t enough, CoverageFindings* findings) const;

  // Writes groups and the number of complete jobs, when all is found.
  void WriteTo(const CoverageFindings& findings, Coverage* record) const;

 private:
  int GroupOf(const Job& job);

  std::vector<CoverageGroup> groups_;
  std::map<std::tuple<std::string, std::string, std::string, std::string,
                      std::string>,
           int>
      index_;
  // By job.
  std::vector<int> group_of_;
  std::vector<JobFlags> flags_;
  // By group, then by number of runs: jobs.
  std::map<int, std::map<size_t, int64_t>> runs_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_GROUPS_H_
