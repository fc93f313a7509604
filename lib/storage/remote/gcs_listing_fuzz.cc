// For any bytes, reading them as a listing, an object or an error ends and
// stays within them, and every listing that is accepted has names and sizes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "lib/storage/remote/gcs_dialect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  feedrate::ParseGcsError(body);
  feedrate::ParseGcsObject(body).IgnoreError();
  const auto page = feedrate::ParseGcsListing(body);
  if (!page.ok()) return 0;
  for (const feedrate::ObjectInfo& object : page->objects) {
    if (object.name.empty() || object.bytes < 0) std::abort();
  }
  return 0;
}
