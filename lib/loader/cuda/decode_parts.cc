#include "lib/loader/cuda/decode_parts.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

absl::StatusOr<std::vector<int>> DecodeInParts(int count,
                                               const DecodePart& decode) {
  std::vector<int> refused;
  // First and count of what is to be tried, the next one last.
  std::vector<std::pair<int, int>> parts = {{0, count}};
  while (!parts.empty()) {
    const auto [first, size] = parts.back();
    parts.pop_back();
    if (size == 0) continue;
    const absl::Status decoded = decode(first, size);
    if (decoded.ok()) continue;
    if (!absl::IsDataLoss(decoded) && !absl::IsResourceExhausted(decoded)) {
      return decoded;
    }
    if (size == 1) {
      refused.push_back(first);
      continue;
    }
    const int half = size / 2;
    parts.push_back({first + half, size - half});
    parts.push_back({first, half});
  }
  return refused;
}

}  // namespace feedrate
