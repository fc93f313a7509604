// Threads, as many as the system allows.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace feedrate {

// Starts `count` threads, thread i of which calls `work(i)`; fewer where the
// system refuses one (`ulimit -u`, no room for its stack), so that the caller
// and those that run have to do. The caller joins them, and keeps `work` until
// then.
template <typename Work>
std::vector<std::thread> StartThreads(int64_t count, const Work& work) {
  std::vector<std::thread> threads;
  if (count > 0) threads.reserve(count);
  try {
    for (int64_t i = 0; i < count; ++i) {
      threads.emplace_back([&work, i] { work(i); });
    }
  } catch (const std::system_error&) {
  }
  return threads;
}

}  // namespace feedrate
