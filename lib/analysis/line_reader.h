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

  // To be called before the first line of a block, in which much is taken to
  // stay the same from line to line.
  void StartBlock();

  // Adds the row that starts at `line`, if it is printed as our writer does:
  // no spaces, no escapes. Returns its newline; null when it is anything else:
  // then nothing was added. REQUIRES: a newline follows somewhere.
  const char* ReadPrinted(const char* line);

  // Adds the row in `line`, whatever way it is written. False when it is no row
  // or something is unusual: then nothing was added, and it has to be read
  // field by field.
  bool ReadAny(absl::string_view line);

  // Fields that the query does not need are not looked at by either, so a line
  // in which only those are of a wrong type counts as good.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_LINE_READER_H_
