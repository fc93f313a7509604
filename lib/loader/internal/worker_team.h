// Worker threads, and the queue between them and their consumer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

// Runs work(0) ... work(size - 1), each on its own thread, once per Start.
// `work` must not throw. Not thread-safe.
class WorkerTeam {
 public:
  // ResourceExhausted where the system has no room for so many threads.
  static absl::StatusOr<std::unique_ptr<WorkerTeam>> Make(int size) {
    auto team = absl::WrapUnique(new WorkerTeam);
    for (int i = 0; i < size; ++i) {
      try {
        team->threads_.emplace_back([team = team.get(), i] { team->Live(i); });
      } catch (const std::system_error& error) {
        return absl::ResourceExhaustedError(
            absl::StrCat("cannot start thread ", i + 1, " of ", size, ": ",
                         error.code().message(), "; ask for fewer workers"));
      }
    }
    return team;
  }
  ~WorkerTeam() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      gone_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  // REQUIRES: no work is running.
  void Start(std::function<void(int)> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = std::move(work);
      running_ = size();
      ++round_;
    }
    changed_.notify_all();
  }

  // Waits until all threads have finished the work started last.
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  WorkerTeam() = default;

  void Live(int index) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int64_t done = 0;;) {
      changed_.wait(lock, [&] { return gone_ || round_ > done; });
      // Threads that start late still do the work that was started.
      if (round_ == done) return;
      done = round_;
      const std::function<void(int)>& work = work_;
      lock.unlock();
      work(index);
      lock.lock();
      if (--running_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(int)> work_;
  int64_t round_ = 0;
  int running_ = 0;
  bool gone_ = false;
  std::vector<std::thread> threads_;
};

// A queue whose writers wait while it is full. Any number of writers and
// readers. Uses std::mutex, not absl::Mutex: ThreadSanitizer cannot see into
// the distribution's build of the latter.
template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. Returns false, and drops `value`, once the queue is closed.
  bool Push(T value) {
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [this] { return closed_ || values_.size() < capacity_; });
    if (closed_) return false;
    values_.push_back(std::move(value));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Waits for a value. Returns none once the queue is closed and empty.
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

  // Ends all waits. Values in the queue can still be taken.
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
