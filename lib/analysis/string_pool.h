// Each text once, however many rows carry it.
#ifndef FEEDRATE_LIB_ANALYSIS_STRING_POOL_H_
#define FEEDRATE_LIB_ANALYSIS_STRING_POOL_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Numbers for texts, in the order in which they come. 0 is the empty text.
class StringPool {
 public:
  StringPool() { Id(""); }

  uint32_t Id(absl::string_view text) {
    const auto known = ids_.find(text);
    if (known != ids_.end()) return known->second;
    texts_.emplace_back(text);
    const uint32_t id = static_cast<uint32_t>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  const std::string& Text(uint32_t id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // Keeps the views in `ids_` alive.
  absl::flat_hash_map<absl::string_view, uint32_t> ids_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_STRING_POOL_H_
