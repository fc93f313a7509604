#include "lib/records/repeated_keys.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

using ::simdjson::dom::element;
using ::simdjson::dom::object;

namespace {

// A bit that most other short keys do not have.
uint64_t KeyBit(std::string_view key) {
  uint64_t start = 0;
  std::memcpy(&start, key.data(), std::min(key.size(), sizeof(start)));
  return uint64_t{1} << ((start * 0x9E3779B97F4A7C15u ^ key.size()) >> 58);
}

}  // namespace

bool HasRepeatedKey(const object& json, std::string_view* repeated) {
  constexpr size_t kFew = 32;
  if (json.size() > kFew) {
    absl::flat_hash_set<std::string_view> keys;
    for (const auto& [key, value] : json) {
      if (!keys.insert(key).second) {
        *repeated = key;
        return true;
      }
    }
    return false;
  }
  uint64_t bits = 0;
  size_t place = 0;
  for (const auto& [key, value] : json) {
    const uint64_t bit = KeyBit(key);
    size_t earlier = (bits & bit) != 0 ? place : 0;
    for (auto other = json.begin(); earlier > 0; ++other, --earlier) {
      if (other.key() != key) continue;
      *repeated = key;
      return true;
    }
    bits |= bit;
    ++place;
  }
  return false;
}

std::string FindRepeatedKey(const element& json) {
  object fields;
  if (json.get(fields) == simdjson::SUCCESS) {
    std::string_view repeated;
    if (HasRepeatedKey(fields, &repeated)) return std::string(repeated);
    for (const auto& [key, value] : fields) {
      const std::string inner = FindRepeatedKey(value);
      if (inner.empty()) continue;
      return absl::StrCat(std::string(key), inner[0] == '[' ? "" : ".", inner);
    }
    return "";
  }
  simdjson::dom::array list;
  if (json.get(list) != simdjson::SUCCESS) return "";
  size_t place = 0;
  for (const element& item : list) {
    const std::string inner = FindRepeatedKey(item);
    if (!inner.empty()) {
      return absl::StrCat("[", place, "]", inner[0] == '[' ? "" : ".", inner);
    }
    ++place;
  }
  return "";
}

}  // namespace feedrate
