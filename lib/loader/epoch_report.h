// Faults and times of an epoch, for the reply to the runner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/worker/loader_message.h"

namespace feedrate {

struct ItemFault {
  int64_t position = 0;  // Position in the epoch.
  int64_t item = 0;
  std::string name;
  std::string reason;
};

// Items that could not be used: counts all, and keeps the first ones by
// position. Thread-safe.
class FaultList {
 public:
  static constexpr size_t kKept = 20;

  void Add(ItemFault fault) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++total_;
    items_.insert(fault.item);
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
  // All of them, each once.
  std::set<int64_t> items() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return items_;
  }
  std::vector<ItemFault> kept() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t total_ = 0;
  std::set<int64_t> items_;
  std::vector<ItemFault> kept_;
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

// Adds the number of faults and the first of them by name to the reply.
void ReportFaults(const FaultList& faults, EpochReply* reply);

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply);

}  // namespace feedrate
