// Runs the same work for many items on several threads.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "lib/base/threads.h"

namespace feedrate {

// The number of processors that this process may run on.
inline int UsableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  // More than 1,024 processors: too many for the set.
  return std::max(1u, std::thread::hardware_concurrency());
}

// Calls `work(i)` once for each i in [0, count), on up to `threads` threads, in
// roughly ascending order. 0 threads uses UsableProcessors(). Items differ in
// cost, so each thread takes the next one when it is done. Returns when all are
// done; their writes are visible then.
template <typename Work>
void ParallelFor(int64_t count, int threads, const Work& work) {
  std::atomic<int64_t> next{0};
  const auto run = [&] {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      work(i);
  };
  if (threads <= 0) threads = UsableProcessors();
  const auto help = [&run](int64_t) { run(); };
  std::vector<std::thread> others =
      StartThreads(std::min<int64_t>(threads, count) - 1, help);
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace feedrate
