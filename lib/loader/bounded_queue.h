// A queue that makes its writers wait when it is full.
#ifndef FEEDRATE_LIB_LOADER_BOUNDED_QUEUE_H_
#define FEEDRATE_LIB_LOADER_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace feedrate {

// Any number of writers and readers. std::mutex rather than absl::Mutex:
// ThreadSanitizer does not see into the latter as the distribution builds it.
template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. False, and `value` is gone, once the queue is closed.
  bool Push(T value) {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return closed_ || values_.size() < capacity_; });
    if (closed_) return false;
    values_.push_back(std::move(value));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Waits for a value. None once the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    fill_sum_ += values_.size();
    ++pops_;
    filled_.wait(lock, [this] { return closed_ || !values_.empty(); });
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    lock.unlock();
    room_.notify_one();
    return value;
  }

  // Nobody waits any more. What is in the queue can still be taken.
  void Close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    filled_.notify_all();
  }

  // Mean share of the capacity that readers found in use.
  double MeanFill() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (pops_ == 0) return 0;
    return static_cast<double>(fill_sum_) / pops_ / capacity_;
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> values_;
  bool closed_ = false;
  int64_t fill_sum_ = 0;
  int64_t pops_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_BOUNDED_QUEUE_H_
