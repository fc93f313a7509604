// Lines of JSON into a log, as fast as memory allows.
#ifndef FEEDRATE_LIB_ANALYSIS_LINE_READER_H_
#define FEEDRATE_LIB_ANALYSIS_LINE_READER_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"

namespace feedrate {

// Reads only the fields that a query needs, without making a message of a row,
// and expects keys in the order of the line before. What it cannot read in that
// way it leaves to a thorough reader. Not thread-safe.
class LineReader {
 public:
  // Bytes that must be readable behind a line.
  static constexpr size_t kPadding = 64;

  // Both outlive the reader.
  LineReader(const Query* query, RowLog* log);
  ~LineReader();

  // Adds the row in `line` to the log. False when it is anything but a row of
  // the usual kind: then nothing was added, and the line has to be read field
  // by field.
  //
  // Fields that the query does not need are not looked at, so a line in which
  // only those are of a wrong type counts as good.
  bool Read(absl::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_LINE_READER_H_
