// The same work on many things, by several threads.
#ifndef FEEDRATE_LIB_ANALYSIS_PARALLEL_H_
#define FEEDRATE_LIB_ANALYSIS_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace feedrate {

// Calls `work` once for each number below `count`, in no order, from up to
// `threads` threads, one of them the caller's. Returns when all is done.
template <typename Work>
void ForEachInParallel(size_t threads, size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(threads, count); ++i) {
    helpers.emplace_back(run);
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PARALLEL_H_
