// The rows of one job, which differ in little but their numbers.
#ifndef FEEDRATE_LIB_ANALYSIS_JOB_LINE_H_
#define FEEDRATE_LIB_ANALYSIS_JOB_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/analysis/row_steps.h"

namespace feedrate {

// A key of a row with its value, as they stand there.
struct PrintedField {
  // With quotes and colon.
  std::string key;
  std::string value;
  Step step;
};

// The text of a job's rows with holes where two of them differed, or where a
// number stands that every row has its own of.
struct JobLine {
  struct Hole {
    // Where the text before it ends in `text`.
    uint32_t end = 0;
    Step step;
  };

  // The JSON of the id, and padding.
  std::string job_id;
  size_t job_id_size = 0;
  // From the opening bracket to the newline, and padding.
  std::string text;
  uint32_t size = 0;
  std::vector<Hole> holes;
  int64_t attempt = 0;
  uint32_t group = 0;
  // True: `text` may be used.
  bool is_ready = false;
  // True: the rows of this job are too different.
  bool is_hopeless = false;
  // Of the first row, until there is a second.
  std::vector<PrintedField> first;
  // The job whose row came next the last time: a good guess for this time.
  JobLine* next = nullptr;
};

// Makes the text of `line` from its first row and another. When they are not
// alike, or differ in what decides about their group, it becomes hopeless.
void CompleteJobLine(const std::vector<PrintedField>& second, JobLine* line);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_JOB_LINE_H_
