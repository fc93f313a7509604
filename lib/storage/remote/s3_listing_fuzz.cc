// For any bytes, reading them as a listing or an error ends and stays within
// them, and every listing that is accepted has names and sizes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "lib/storage/remote/s3_dialect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  feedrate::ParseS3Error(body);
  const auto page = feedrate::ParseS3Listing(body);
  if (!page.ok()) return 0;
  for (const feedrate::ObjectInfo& object : page->objects) {
    if (object.name.empty() || object.bytes < 0) std::abort();
  }
  return 0;
}
