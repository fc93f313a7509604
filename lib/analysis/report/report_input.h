// The records that a report is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

struct ReportInput {
  // The cleanest attempt at each run of each job, in an order that does not
  // depend on the order of the files.
  std::vector<Row> rows;
  // One per env_id and one per run_id, sorted by them.
  std::vector<Env> envs;
  std::vector<Run> runs;
  // All verdicts, in the order read.
  std::vector<Verdict> verdicts;
  // All profiles of duels, in the order read.
  std::vector<Profile> profiles;
  // All batches of mixtures, in the order read.
  std::vector<Batch> batches;
  // Number of attempts that a cleaner or later one replaced.
  int64_t replaced_rows = 0;
  // Number of records of kinds that this program does not know, by kind.
  std::map<std::string, int64_t> passed_over;
  // See RecordReader in lib/records/record_io.h.
  int64_t broken_lines = 0;
  int64_t refused_records = 0;
  int64_t torn_lines = 0;
};

// Reads files, all .jsonl files below folders, and standard input (`-`). Calls
// `complain` with one line for each damaged line, and goes on.
absl::StatusOr<ReportInput> ReadReportInput(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&)>& complain);

}  // namespace feedrate
