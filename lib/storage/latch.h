// Waits until a number of things have happened.
#ifndef FEEDRATE_LIB_STORAGE_LATCH_H_
#define FEEDRATE_LIB_STORAGE_LATCH_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace feedrate {

// Thread-safe; may be destroyed as soon as Wait has returned. Not Abseil's,
// whose locks the thread sanitizer of the distribution does not see.
class Latch {
 public:
  explicit Latch(int64_t count) : left_(count) {}

  void CountDown() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --left_;
    // Under the lock: the waiter may destroy the condition right after.
    if (left_ <= 0) changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return left_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t left_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_LATCH_H_
