// Items that could not be used.
#ifndef FEEDRATE_LIB_LOADER_FAULT_LIST_H_
#define FEEDRATE_LIB_LOADER_FAULT_LIST_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace feedrate {

struct ItemFault {
  int64_t position = 0;  // In the epoch.
  int64_t item = 0;
  std::string name;
  std::string reason;
};

// Counts all, keeps the first by position. Thread-safe.
class FaultList {
 public:
  static constexpr size_t kKept = 20;

  void Add(ItemFault fault) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++total_;
    const auto later = [](const ItemFault& a, const ItemFault& b) {
      return a.position < b.position;
    };
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), fault, later),
                 std::move(fault));
    if (kept_.size() > kKept) kept_.pop_back();
  }

  int64_t total() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return total_;
  }
  std::vector<ItemFault> kept() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t total_ = 0;
  std::vector<ItemFault> kept_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_FAULT_LIST_H_
