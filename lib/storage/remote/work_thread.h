// A thread beside the network thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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

}  // namespace feedrate
