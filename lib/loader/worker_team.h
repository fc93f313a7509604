// Threads that do the same thing, once or again and again.
#ifndef FEEDRATE_LIB_LOADER_WORKER_TEAM_H_
#define FEEDRATE_LIB_LOADER_WORKER_TEAM_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace feedrate {

// Runs work(0) ... work(size - 1), each on its own thread. `work` must not
// throw. Not thread-safe.
class WorkerTeam {
 public:
  explicit WorkerTeam(int size) {
    for (int i = 0; i < size; ++i) {
      threads_.emplace_back([this, i] { Live(i); });
    }
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

  // REQUIRES: nothing runs.
  void Start(std::function<void(int)> work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = std::move(work);
      running_ = size();
      ++round_;
    }
    changed_.notify_all();
  }

  // Until all have returned from the work started last.
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  void Live(int index) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int64_t done = 0;;) {
      changed_.wait(lock, [&] { return gone_ || round_ > done; });
      // Work that was started is done, also by those who came late.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_WORKER_TEAM_H_
