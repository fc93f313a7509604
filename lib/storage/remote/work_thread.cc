#include "lib/storage/remote/work_thread.h"

#include <utility>

namespace feedrate {

void WorkThread::Post(std::function<void()> work) {
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

void WorkThread::Stop() {
  std::thread ending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    ending.swap(thread_);
  }
  if (ending.joinable()) ending.join();
}

void WorkThread::Run() {
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
