// Rows in any JSON, by simdjson.
#ifndef FEEDRATE_LIB_ANALYSIS_ANY_ROW_READER_H_
#define FEEDRATE_LIB_ANALYSIS_ANY_ROW_READER_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {

// Reads only the fields that a query needs, without making a message of a row.
// Fields that it does not need are not checked. Not thread-safe.
class AnyRowReader {
 public:
  // Bytes that must be readable behind a line.
  static constexpr size_t kPadding = 64;

  // Both outlive the reader.
  AnyRowReader(const RowSteps* steps, size_t slots, RowLog* log);
  ~AnyRowReader();

  // Adds the row in `line` to the log. False when it is no row or something is
  // unusual: then nothing was added, and it has to be read field by field.
  bool Read(absl::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ANY_ROW_READER_H_
