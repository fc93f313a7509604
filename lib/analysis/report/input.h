// What a report is made from: the records of any number of files.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_INPUT_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_INPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct ReportInput {
  // The last attempt of each run of each job, in a fixed order that does not
  // depend on the order of the files.
  std::vector<Row> rows;
  // One for each env_id and each run_id, sorted by them.
  std::vector<Env> envs;
  std::vector<Run> runs;
  // All of them, as they came.
  std::vector<Verdict> verdicts;
  // Of mixtures: all of them, as they came.
  std::vector<Batch> batches;
  // Attempts that a later one replaced.
  int64_t replaced_rows = 0;
  // Records that this program does not know, by name.
  std::map<std::string, int64_t> passed_over;
  int64_t broken_lines = 0;
  int64_t torn_lines = 0;
};

// Reads files, all .jsonl files below folders, and standard input (`-`).
// `complain` gets what is broken in them, one line each; reading goes on.
absl::StatusOr<ReportInput> ReadReportInput(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&)>& complain);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_INPUT_H_
