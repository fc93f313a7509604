// Rows as our own writer prints them, by hand.
#ifndef FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
#define FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/job_line.h"
#include "lib/analysis/repeats.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {

// Reads rows without spaces and escapes. Looks at each byte once, expects keys
// in the order of the line before, and compares what stays the same, in all
// rows or in those of one job, instead of reading it. Fields that the query
// does not need are not checked. Not thread-safe.
class PrintedRowReader {
 public:
  // Both outlive the reader.
  PrintedRowReader(const RowSteps* steps, size_t slots, RowLog* log);

  // Adds the row that starts at `line`. Returns its newline; null when it is
  // anything unusual: then nothing was added. REQUIRES: the byte before `end`
  // is a newline, and kPrintedPadding bytes behind it are readable.
  const char* Read(const char* line, const char* end);

 private:
  // A key as it stood in the line before, with its closing quote and padding.
  struct Expected {
    std::string key;
    size_t size = 0;
    Step step;
  };
  const char* ReadAlike(const JobLine& job, const char* at, const char* end);
  const char* ReadFields(const char* at, const char* end);
  const char* ReadKey(const char* at, size_t place, Step* step);
  const char* ReadValue(const Step& step, const char* at);
  bool TakeValue(const Step& step, const char* at, const char* end);
  bool TakePart(const RowSteps::Part& part, const char* at, const char* end);
  bool TakeSamples(const char* at, const char* end);
  JobLine* FindJob(absl::string_view job_id);
  void Learn(JobLine* job, uint32_t group);

  const RowSteps* const steps_;
  const size_t slots_;
  RowLog* const log_;
  RowScratch row_;
  std::vector<Expected> expected_;

  // Of all rows.
  Repeats common_;
  int until_learning_ = 0;
  bool learns_common_ = false;
  // By job id; a fixed number of jobs, and none when they do not come back.
  absl::flat_hash_map<std::string, std::unique_ptr<JobLine>> jobs_;
  bool use_jobs_ = true;
  int64_t rows_ = 0;
  int64_t alike_ = 0;
  // The job of the row before, and what is at hand of a job's row.
  JobLine* last_ = nullptr;
  std::vector<PrintedField> fields_;
  bool learns_job_ = false;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
