// A thread beside the network thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace feedrate {

// A thread for work that would hold up the network thread. Runs what is posted,
// in order. The thread starts with the first post. Thread-safe.
class WorkThread {
 public:
  WorkThread() = default;
  ~WorkThread() { Stop(); }

  // After Stop, the work runs in the caller's thread.
  void Post(std::function<void()> work);

  // Returns when all posted work has run.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

inline void WorkThread::Post(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(work));
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
      changed_.notify_one();
      return;
    }
  }
  work();
}

inline void WorkThread::Stop() {
  std::thread ending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    ending.swap(thread_);
  }
  if (ending.joinable()) ending.join();
}

inline void WorkThread::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace feedrate
