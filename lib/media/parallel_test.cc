#include "lib/media/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace feedrate {
namespace {

TEST(ParallelTest, DoesEachItemOnceWhateverTheThreads) {
  for (int threads : {0, 1, 2, 7}) {
    for (int64_t count : {0, 1, 5, 1000}) {
      std::vector<int> calls(count);
      ParallelFor(count, threads, [&](int64_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
    }
  }
}

TEST(ParallelTest, ThisProcessMayRunSomewhere) {
  EXPECT_GE(UsableProcessors(), 1);
}

}  // namespace
}  // namespace feedrate
