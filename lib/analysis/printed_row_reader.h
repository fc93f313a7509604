// Rows as our own writer prints them, by hand.
#ifndef FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
#define FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/repeats.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {

// Reads rows without spaces and escapes. Looks at each byte once, expects keys
// in the order of the line before, and compares what stays the same instead of
// reading it. Fields that the query does not need are not checked. Not
// thread-safe.
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
  // The rows of one job differ in little.
  struct JobRepeats {
    std::string job_id;
    Repeats repeats;
    // The group of its last row, and the hash of that row's tokens.
    uint32_t group = 0;
    uint64_t hash = 0;
    bool has_group = false;
  };

  const char* ReadKey(const char* at, size_t place, Step* step);
  const char* ReadValue(const Step& step, const char* at);
  bool TakeValue(const Step& step, const char* at, const char* end);
  bool TakePart(const RowSteps::Part& part, const char* at, const char* end);
  bool TakeSamples(const char* at, const char* end);
  JobRepeats* FindJob(absl::string_view job_id);
  bool AddRow(JobRepeats* job);

  const RowSteps* const steps_;
  const size_t slots_;
  RowLog* const log_;
  RowScratch row_;
  std::vector<Expected> expected_;

  // Of all rows.
  Repeats common_;
  int until_learning_ = 0;
  // Open addressing by job id; a fixed number of jobs.
  std::vector<JobRepeats*> table_;
  std::vector<std::unique_ptr<JobRepeats>> jobs_;
  int64_t lookups_ = 0;
  int64_t found_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
