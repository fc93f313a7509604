// Two readers of rows: a fast one for rows as our own writer prints them, and
// one for rows in any JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_templates.h"

namespace feedrate {

// Reads rows in any JSON with simdjson: only the fields that a query needs, and
// without building a message. Does not check the other fields. Not thread-safe.
class AnyRowReader {
 public:
  // Bytes that must be readable after a line.
  static constexpr size_t kPadding = 64;

  // `steps` and `log` must outlive the reader.
  AnyRowReader(const RowSteps* steps, size_t slots, RowLog* log);
  ~AnyRowReader();

  // Adds the row in `line` to the log. False, and nothing is added, if it is no
  // row or unusual in any way; it must then be parsed in full.
  bool Read(absl::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads rows as our own writer prints them, without spaces or escapes. Compares
// a row with known templates, and reads only the values in their holes. Reads
// any other row key by key, expecting keys in the order of the previous line,
// and may remember it as a template. Does not check fields that the query does
// not need. Not thread-safe.
class PrintedRowReader {
 public:
  // `steps` and `log` must outlive the reader.
  PrintedRowReader(const RowSteps* steps, size_t slots, RowLog* log);

  // Adds the row that starts at `line` and returns the place of its newline.
  // Null, and nothing is added, if the row is unusual in any way. REQUIRES: the
  // byte before `end` is a newline, and kPrintedPadding bytes after it are
  // readable.
  const char* Read(const char* line, const char* end);

 private:
  // A key of the previous line, with its closing quote and padding.
  struct Expected {
    std::string key;
    size_t size = 0;
    Step step;
  };
  const char* ReadKnown(const char* at, const char* end);
  const char* ReadFields(const char* at);
  const char* ReadKey(const char* at, size_t place, Step* step);
  const char* ReadValue(const Step& step, const char* at);
  bool TakeValue(const Step& step, const char* at, const char* end);
  bool TakePart(const RowSteps::Part& part, const char* at, const char* end);
  bool TakeSamples(const char* at, const char* end);
  bool MayLearn();
  void Learn(uint32_t group);

  const RowSteps* const steps_;
  RowLog* const log_;
  RowScratch row_;
  std::vector<Expected> expected_;

  std::unique_ptr<RowTemplates> known_;
  bool use_known_ = true;
  bool has_room_ = true;
  int64_t rows_ = 0;
  int64_t known_rows_ = 0;
  int64_t learned_ = 0;
  // For the current row, while it is being remembered.
  bool learns_row_ = false;
  std::vector<PrintedField> fields_;
};

}  // namespace feedrate
