// A corpus that passes the check can be read at every offset in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lib/media/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::CorpusHeader;
  using feedrate::CorpusItem;
  // Aligned like a map.
  std::vector<uint64_t> aligned(size / 8 + 1);
  if (size > 0) std::memcpy(aligned.data(), data, size);
  const auto* begin = reinterpret_cast<const uint8_t*>(aligned.data());
  // The length is in the header and rarely survives a mutation.
  if (size >= sizeof(CorpusHeader) && data[size - 1] % 2 == 0) {
    const uint64_t length = size;
    std::memcpy(reinterpret_cast<uint8_t*>(aligned.data()) +
                    offsetof(CorpusHeader, file_bytes),
                &length, sizeof(length));
  }
  if (feedrate::FindCorpusFault(begin, size) != nullptr) return 0;
  const auto* header = reinterpret_cast<const CorpusHeader*>(begin);
  const auto* items =
      reinterpret_cast<const CorpusItem*>(begin + header->index_offset);
  for (uint64_t i = 0; i < header->count; ++i) {
    const int64_t end = items[i].offset + items[i].bytes;
    if (items[i].offset < 64 || items[i].bytes < 1 ||
        end > static_cast<int64_t>(size)) {
      std::abort();
    }
    volatile uint8_t last = begin[end - 1];
    static_cast<void>(last);
  }
  return 0;
}
