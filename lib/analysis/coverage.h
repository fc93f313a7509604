// What the program `check_coverage` does, without its flags.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct CoverageOptions {
  // A profile's name or file, and a file of jobs; at least one of them.
  std::string coverage;
  std::string plan;
  bool require_optional_libraries = false;
  // Runs that every job of the profile owes. 0: what its config asks.
  int32_t num_runs = 0;
  // Only rows of this machine count. Empty: any.
  std::string machine_profile;
  // Folder with matrix and policy. Empty: found.
  std::string configs_folder;
  // Files with rows, folders of .jsonl files, or `-`.
  std::vector<std::string> paths;
  // Gets each job that would fill a gap, in the order of the plan. Null: not
  // wanted.
  std::function<absl::Status(const Job&)> fix;
  // Gets what is worth knowing besides, one line each.
  std::function<void(const std::string&)> warn;
};

// Holds the rows against what is owed. Memory goes with the plan (some 400
// bytes a job, 100 a run) and with the findings, not with the rows.
absl::StatusOr<Coverage> CheckCoverage(const CoverageOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_H_
