// The fast reader of rows: only the fields that a query needs, and without
// building a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/analysis/rows/row_templates.h"

namespace feedrate {

// Reads rows in any JSON: keys in any order, spaces, escapes. Compares a row
// with known templates, and reads only the values in their holes. Reads any
// other row key by key, expecting keys in the order of the previous line, and
// may remember it as a template. Does not check fields that the query does not
// need. Not thread-safe.
class RowReader {
 public:
  // `steps` and `log` must outlive the reader.
  RowReader(const RowSteps* steps, size_t slots, RowLog* log);

  // Adds the row that starts at `line` and returns the place of its newline.
  // Null, and nothing is added, if the row is unusual in any way. REQUIRES: the
  // byte before `end` is a newline, and kScanPadding bytes after it are
  // readable.
  const char* Read(const char* line, const char* end);

 private:
  // A key with its closing quote and padding.
  struct KnownKey {
    std::string key = std::string(kScanPadding, '\0');
    size_t size = 0;
    TemplateStep step;
  };
  const char* ReadKnown(const char* at, const char* end);
  const char* ReadFields(const char* at);
  const char* ReadKey(const char* at, size_t place, TemplateStep* step);
  const char* ReadValue(const TemplateStep& step, const char* at);
  bool TakeValue(const TemplateStep& step, const char* at, const char* end);
  bool TakePart(const RowSteps::Part& part, const char* at, const char* end);
  bool TakeSamples(const char* at, const char* end);
  bool MayLearn();
  void Learn(absl::string_view end, uint32_t group);

  const RowSteps* const steps_;
  RowLog* const log_;
  RowScratch row_;
  // By a hash of the key. A key replaces another one of the same hash.
  std::array<KnownKey, 256> keys_;
  // For each place of the previous line, where its key is in `keys_`.
  std::vector<uint8_t> expected_;

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
