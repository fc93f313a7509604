// Parses any bytes as a filter: gives a result or a one-line error, never a
// crash.
#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/analysis/rows/filter.h"
#include "lib/records/row.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto filter = feedrate::Filter::Parse(text);
  if (!filter.ok()) {
    CHECK(absl::StartsWith(filter.status().message(), "--where: column "));
    return 0;
  }
  feedrate::Row row;
  row.set_status("ok");
  row.set_batch_size(3);
  row.add_labels("cold");
  // The result is the same both times.
  CHECK_EQ(filter->Matches(row), filter->Matches(row));
  return 0;
}
