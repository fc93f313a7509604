#include "lib/analysis/parallel.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ParallelTest, DoesEachThingOnce) {
  for (const size_t threads : {0u, 1u, 2u, 7u}) {
    for (const size_t count : {0u, 1u, 5u, 1000u}) {
      std::vector<std::atomic<int>> done(count);
      ForEachInParallel(threads, count, [&](size_t i) { ++done[i]; });
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    }
  }
}

}  // namespace
}  // namespace feedrate
