#include "lib/measure/chunk.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

constexpr double kClock = 80e-9;

TEST(ChunkTest, LongCallsAreTimedOneByOne) {
  const ChunkChoice choice = ChooseChunk(ChunkPolicy(), 10e-6, kClock, 1000);
  EXPECT_EQ(choice.chunk, 1);
  EXPECT_EQ(choice.count, 1000);
}

TEST(ChunkTest, TheClockStaysUnderOnePercent) {
  for (const double call_s : {13e-9, 130e-9, 1.3e-6, 5.3e-6, 9.7e-6}) {
    const ChunkChoice choice =
        ChooseChunk(ChunkPolicy(), call_s + kClock, kClock, 1000);
    EXPECT_LE(kClock / (choice.chunk * call_s), 0.01) << call_s;
    // And not by far: samples are worth having.
    EXPECT_GE(kClock / ((choice.chunk - 1) * call_s), 0.01) << call_s;
  }
}

TEST(ChunkTest, FewItemsArePassedOverAgain) {
  const ChunkChoice choice =
      ChooseChunk(ChunkPolicy(), 100e-9 + kClock, kClock, 20);
  EXPECT_EQ(choice.chunk, 80);
  EXPECT_EQ(choice.count, 80);
}

TEST(ChunkTest, ACallThatTakesNothingHasABound) {
  const ChunkChoice choice = ChooseChunk(ChunkPolicy(), kClock, kClock, 100);
  EXPECT_EQ(choice.chunk, 8000);
  EXPECT_EQ(choice.count, 8000);
}

TEST(ChunkTest, NoChunksWhenNotWanted) {
  ChunkPolicy policy;
  policy.chunk_below_s = 0;
  EXPECT_EQ(ChooseChunk(policy, 1e-9, kClock, 20).chunk, 1);
}

TEST(ChunkTest, AGpuHasItsOwn) {
  ChunkPolicy policy;
  policy.fixed = 64;
  policy.min_samples = 20;
  ChunkChoice choice = ChooseChunk(policy, 1e-3, 1e-7, 1000);
  EXPECT_EQ(choice.chunk, 64);
  // Two passes: 32 samples.
  EXPECT_EQ(choice.count, 2000);
  choice = ChooseChunk(policy, 1e-3, 1e-7, 5000);
  EXPECT_EQ(choice.count, 5000);
}

}  // namespace
}  // namespace feedrate
