// Findings of check_coverage, the runs to repeat because of them, and how
// complete each library is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/records/job.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

// Kinds of findings, in the order in which they are reported.
enum class CoverageCode {
  // Missing.
  kMissing,
  kTooFewRuns,
  kFailed,
  // Different from the plan.
  kWrongHardware,
  kBatchSize,
  kSettings,
  kUnsupported,
  kSupported,
  kDuplicate,
  kMixed,
  // Too good to be true.
  kNoop,
  kZero,
  kAboveCopy,
  kAboveLimit,
  kIdentical,
  kVideoSpeed,
  // Damaged files.
  kTornLine,
  kBrokenLine,
  // Warnings.
  kRescuedLine,
  kRepeated,
  kOtherSettings,
  kFewRuns,
  kNoisy,
};
inline constexpr int kCoverageCodes =
    static_cast<int>(CoverageCode::kNoisy) + 1;

struct CoverageCodeInfo {
  // The name in records and tables. Never changes.
  const char* name;
  // If false, it is a warning.
  bool is_error;
  // The run must be repeated, so `--fix=jobs` prints it.
  bool is_gap;
  const char* remedy;
};

const CoverageCodeInfo& InfoOf(CoverageCode code);

// Collects findings, and the gaps (runs to make or repeat) that follow from
// them.
class CoverageFindings {
 public:
  // Adds a finding about a run of a job. Findings of one job with the same text
  // are merged.
  void AddRun(CoverageCode code, int index, const Job& job, int32_t run_index,
              const std::string& place, const std::string& what);
  // Adds a finding about something else.
  void Add(CoverageCode code, const std::string& subject,
           const std::string& place, const std::string& what);

  bool has_errors() const { return has_errors_; }
  // Runs of a job that must be made or repeated. Null if there are none.
  const std::set<int32_t>* GapsOf(int job) const;
  int64_t total_gaps() const;

  // Moves all findings into `record`, sorted by code, then in the order added.
  void MoveTo(Coverage* record);

  // Calls `emit` for each job with a gap (or, if `noisy`, with a noisy run), in
  // the order of the plan. The job has only the runs to be made, and its cost
  // is reduced accordingly.
  absl::Status ForEachFix(
      const PlannedJobs& jobs, bool noisy,
      const std::function<absl::Status(const Job&)>& emit) const;

 private:
  CoverageFinding* New(CoverageCode code);

  std::array<std::vector<CoverageFinding>, kCoverageCodes> findings_;
  // Runs by job.
  std::map<int, std::set<int32_t>> gaps_;
  std::map<int, std::set<int32_t>> noisy_;
  bool has_errors_ = false;
};

// What became of a job.
struct JobFlags {
  bool missing = false;
  bool partial = false;
  bool failed = false;
  bool unsupported = false;
  bool early_stopped = false;
  bool noisy = false;
};

// How complete each library is in each part of the plan.
class CoverageGroups {
 public:
  // Adds the next job of the plan. `ok_runs` is the number of measured runs.
  void Add(const Job& job, const JobFlags& flags, size_t ok_runs);

  // Adds warnings, per group, about jobs with some, but fewer than `enough`,
  // runs.
  void AddFewRuns(size_t enough, CoverageFindings* findings) const;

  // Writes the groups and the number of complete jobs. Call it after the last
  // finding.
  void WriteTo(const CoverageFindings& findings, Coverage* record) const;

 private:
  int GroupOf(const Job& job);

  std::vector<CoverageGroup> groups_;
  std::map<std::tuple<std::string, std::string, std::string, std::string,
                      std::string>,
           int>
      index_;
  // Indexed by job.
  std::vector<int> group_of_;
  std::vector<JobFlags> flags_;
  // Number of jobs, by group, then by number of runs.
  std::map<int, std::map<size_t, int64_t>> runs_;
};

}  // namespace feedrate
