// The program `check_coverage` without its flags.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/job.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

struct CoverageOptions {
  // Name or file of a profile, and a file of jobs. At least one is required.
  std::string coverage;
  std::string plan;
  bool require_optional_libraries = false;
  // Runs required of every job of the profile. 0 means the number in its
  // config.
  int32_t num_runs = 0;
  // Only rows of this machine count. Empty means any machine.
  std::string machine_profile;
  // Folder with matrix and policy. Empty means search for it.
  std::string configs_folder;
  // Files with rows, folders of .jsonl files, or `-` for standard input.
  std::vector<std::string> paths;
  // Called with each job that would fill a gap, in the order of the plan. May
  // be null.
  std::function<absl::Status(const Job&)> fix;
  // `fix` gets the jobs with noisy runs instead.
  bool fix_noisy = false;
  // `fix` gets only the jobs of this program. Empty means all.
  std::string program;
  // Called with each warning, one line each.
  std::function<void(const std::string&)> warn;
};

// Checks that there are correct rows for all required jobs. Memory grows with
// the plan (about 400 bytes per job and 100 per run) and with the findings, not
// with the rows.
absl::StatusOr<Coverage> CheckCoverage(const CoverageOptions& options);

// The record in one line: `full-paper: incomplete: 1234 of 1240 jobs, …`.
std::string CoverageSummary(const Coverage& coverage);

// The summary, how complete each library is, and the findings with their
// remedies: the first `limit` of each kind, or all if it is 0.
std::string CoverageText(const Coverage& coverage, int limit);

}  // namespace feedrate
