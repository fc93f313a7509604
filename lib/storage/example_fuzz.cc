// For any bytes, reading ends, and everything it finds is within the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/storage/tfrecord.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  feedrate::ExampleView view;
  if (!view.Parse(bytes).ok()) return 0;
  for (const absl::string_view name : view.names()) {
    std::vector<absl::string_view> strings;
    std::vector<float> floats;
    std::vector<int64_t> integers;
    if (view.Bytes(name, &strings).ok()) {
      for (const absl::string_view text : strings) {
        if (text.data() < bytes.data() ||
            text.data() + text.size() > bytes.data() + size) {
          std::abort();
        }
      }
    }
    view.Floats(name, &floats).IgnoreError();
    view.Integers(name, &integers).IgnoreError();
    if (floats.size() * 4 > size || integers.size() > size) std::abort();
  }
  return 0;
}
