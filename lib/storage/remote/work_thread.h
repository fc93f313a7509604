// A thread for what would hold up the network.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_WORK_THREAD_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_WORK_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace feedrate {

// Runs what is posted, in order. Starts with the first post. Thread-safe.
class WorkThread {
 public:
  WorkThread() = default;
  ~WorkThread() { Stop(); }

  // After Stop it runs in the caller's thread.
  void Post(std::function<void()> work);

  // Comes back when everything has run.
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

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_WORK_THREAD_H_
