// What an epoch tells about itself: the items that it could not use, and where
// its time went.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace feedrate {

struct ItemFault {
  int64_t position = 0;  // Position in the epoch.
  int64_t item = 0;
  std::string name;
  std::string reason;
};

// Items that could not be used, each listed once, however often it was tried.
// Thread-safe.
class FaultList {
 public:
  FaultList() = default;
  // Counts every time, for data that is read again and again.
  static FaultList OfPasses() { return FaultList(true); }

  void Add(ItemFault fault) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [place, is_new] =
        faults_.emplace(Key(fault.item, fault.name, fault.reason), fault);
    if (is_new || counts_each_time_) ++total_;
    // Workers are not in the order of positions.
    if (!is_new && fault.position < place->second.position) {
      place->second = std::move(fault);
    }
  }

  int64_t total() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return total_;
  }
  // All of them, by position.
  std::vector<ItemFault> all() const {
    std::vector<ItemFault> all;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& [key, fault] : faults_) all.push_back(fault);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const ItemFault& a, const ItemFault& b) {
                       return a.position < b.position;
                     });
    return all;
  }

 private:
  // Items of a mixture are data sets: the name is that of an episode.
  using Key = std::tuple<int64_t, std::string, std::string>;

  explicit FaultList(bool counts_each_time)
      : counts_each_time_(counts_each_time) {}

  const bool counts_each_time_ = false;
  mutable std::mutex mutex_;
  int64_t total_ = 0;
  std::map<Key, ItemFault> faults_;
};

// Where the time of one stage went, in seconds summed over its threads.
struct StageReport {
  std::string name;  // `read`, `decode`, `augment`, `collate` or `copy`.
  double busy_s = 0;
  double wait_in_s = 0;   // Waiting for input.
  double wait_out_s = 0;  // Waiting for room for the output.
  // Mean share of the stage's output queue that was full.
  double queue_fill = 0;
};

}  // namespace feedrate
