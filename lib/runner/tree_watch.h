// The memory of a process tree while something runs.
#ifndef FEEDRATE_LIB_RUNNER_TREE_WATCH_H_
#define FEEDRATE_LIB_RUNNER_TREE_WATCH_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace feedrate {

// Looks at the tree below `pid` now and then, from a thread of its own that
// takes at most 1% of a processor: a look at a large process takes
// milliseconds, and then the next one comes later.
class TreeWatch {
 public:
  explicit TreeWatch(pid_t pid);
  ~TreeWatch();
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;

  // Ends the watch. The most that was seen, shared pages counted once and the
  // shared images not at all. Absent: it cannot be read here.
  std::optional<int64_t> Stop();

 private:
  void Look();
  void Run();

  const pid_t pid_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::optional<int64_t> peak_bytes_;
  std::thread thread_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TREE_WATCH_H_
