// For any bytes, iterating ends and stays within them, and each record is one
// that the writer would have written there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/storage/tfrecord.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  feedrate::TfRecordCursor cursor("f", bytes);
  for (;;) {
    const int64_t start = cursor.offset();
    const auto record = cursor.Next();
    if (!record.ok()) {
      if (cursor.can_go_on() && cursor.offset() <= start) std::abort();
      continue;
    }
    if (!record->has_value()) return 0;
    std::string again;
    feedrate::AppendTfRecord(**record, &again);
    if (bytes.substr(start, again.size()) != again) std::abort();
  }
}
