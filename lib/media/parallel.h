// The same work for many items on a few threads.
#ifndef FEEDRATE_LIB_MEDIA_PARALLEL_H_
#define FEEDRATE_LIB_MEDIA_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace feedrate {

// Threads to use where the caller does not say: the processors that this
// process may run on.
int UsableProcessors();

// Calls `work(i)` once for each i in [0, count), on `threads` threads (0: as
// many as there are usable processors), in about ascending order. Items differ
// in cost, so each thread takes the next one when it is done. Returns when all
// are done; what they wrote is visible then.
template <typename Work>
void ParallelFor(int64_t count, int threads, const Work& work) {
  std::atomic<int64_t> next{0};
  const auto run = [&] {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      work(i);
  };
  if (threads <= 0) threads = UsableProcessors();
  std::vector<std::thread> others;
  for (int64_t t = 1; t < std::min<int64_t>(threads, count); ++t) {
    others.emplace_back(run);
  }
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_PARALLEL_H_
