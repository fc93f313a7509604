// Rows as our own writer prints them, by hand.
#ifndef FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
#define FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/known_rows.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/row_steps.h"

namespace feedrate {

// Reads rows without spaces and escapes. A row whose texts are known is
// compared with them, and only the values between are read. Any other is read
// key by key, expecting keys in the order of the line before, and may become
// known. Fields that the query does not need are not checked. Not thread-safe.
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

  std::unique_ptr<KnownRows> known_;
  bool use_known_ = true;
  bool has_room_ = true;
  int64_t rows_ = 0;
  int64_t known_rows_ = 0;
  int64_t learnt_ = 0;
  // Of the row at hand, while it is learnt.
  bool learns_row_ = false;
  std::vector<PrintedField> fields_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PRINTED_ROW_READER_H_
