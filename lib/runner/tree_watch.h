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

// Looks at the tree below `pid`, and at its parent, now and then, from a thread
// of its own that takes at most 1% of a processor: a look at a large process
// takes milliseconds, and then the next one comes later.
class TreeWatch {
 public:
  // The first look is after `first_s`: best when most of the work is under way.
  TreeWatch(pid_t parent, pid_t pid, double first_s);
  ~TreeWatch();
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;

  // Ends the watch. The most that was seen, shared pages counted once and the
  // shared images not at all. Absent: it cannot be read here.
  std::optional<int64_t> Stop();

  // Looks that have ended, whatever they saw.
  int64_t looks();

 private:
  void Look();
  void Run();

  const pid_t parent_;
  const pid_t pid_;
  const double first_s_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  int64_t looks_ = 0;
  std::optional<int64_t> peak_bytes_;
  std::thread thread_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TREE_WATCH_H_
