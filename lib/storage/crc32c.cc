#include "lib/storage/crc32c.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "isa-l/crc.h"

namespace feedrate {
namespace {

// The library counts in int.
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr uint32_t kMaskDelta = 0xa282ead8u;

}  // namespace

uint32_t Crc32c(absl::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kMostAtOnce);
    // Not changed; the library predates const.
    auto* data =
        reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(size), crc);
    bytes.remove_prefix(size);
  }
  return ~crc;
}

uint32_t MaskedCrc32c(absl::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

}  // namespace feedrate
