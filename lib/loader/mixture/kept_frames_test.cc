#include "lib/loader/mixture/kept_frames.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(KeptFramesTest, GivesBackWhatWasKeptOnce) {
  KeptFrames kept;
  const std::vector<uint8_t> frame = {1, 2, 3};
  kept.Keep(7, frame.data(), frame.size());
  std::vector<uint8_t> out(3);
  EXPECT_FALSE(kept.Take(6, out.size(), out.data()));
  EXPECT_TRUE(kept.Take(7, out.size(), out.data()));
  EXPECT_EQ(out, frame);
  EXPECT_FALSE(kept.Take(7, out.size(), out.data()));
}

TEST(KeptFramesTest, KeepsNoMoreThanItSays) {
  KeptFrames kept;
  for (uint8_t step = 0; step < 10; ++step) kept.Keep(step, &step, 1);
  uint8_t out = 0;
  size_t there = 0;
  for (int step = 0; step < 10; ++step) {
    if (kept.Take(step, 1, &out)) {
      EXPECT_EQ(out, step);
      ++there;
    }
  }
  EXPECT_EQ(there, KeptFrames::kMost);
}

}  // namespace
}  // namespace feedrate
