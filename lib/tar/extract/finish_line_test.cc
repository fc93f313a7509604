#include "lib/tar/extract/finish_line.h"

#include <gtest/gtest.h>

#include <thread>

namespace feedrate::tar {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

class Recorder : public FinishListener {
 public:
  void OnFinished(uint64_t offset) override { told.push_back(offset); }
  std::vector<uint64_t> told;
};

TEST(FinishLine, WaitsForTheEarliestStretch) {
  Recorder recorder;
  FinishLine line(&recorder);
  auto first = line.Open(10 * kMegabyte, {});
  auto second = line.Open(20 * kMegabyte, {});
  auto third = line.Open(30 * kMegabyte, {});
  second.reset();
  EXPECT_TRUE(recorder.told.empty());
  first.reset();
  EXPECT_EQ(recorder.told, std::vector<uint64_t>({20 * kMegabyte}));
  third.reset();
  EXPECT_EQ(recorder.told.back(), 30 * kMegabyte);
}

TEST(FinishLine, IsFinishedOnlyWithTheLastReference) {
  Recorder recorder;
  FinishLine line(&recorder);
  auto stretch = line.Open(10 * kMegabyte, {});
  auto part = stretch;
  stretch.reset();
  EXPECT_TRUE(recorder.told.empty());
  part.reset();
  EXPECT_EQ(recorder.told.size(), 1u);
}

TEST(FinishLine, TellsNothingOnceFrozen) {
  Recorder recorder;
  FinishLine line(&recorder);
  auto stretch = line.Open(10 * kMegabyte, {});
  line.Freeze();
  stretch.reset();
  EXPECT_TRUE(recorder.told.empty());
  line.WaitUntilClear();
}

TEST(FinishLine, TellsNowAndThenOfSmallFiles) {
  Recorder recorder;
  FinishLine line(&recorder);
  for (uint64_t i = 1; i <= 100; ++i) line.Open(i * 512, {});
  EXPECT_GE(recorder.told.size(), 2u);
  EXPECT_LE(recorder.told.size(), 20u);
}

TEST(FinishLine, KnowsTheNamesInTheWorks) {
  FinishLine line(nullptr);
  auto one = line.Open(1, {7, 8});
  auto two = line.Open(2, {8});
  EXPECT_TRUE(line.IsOpen(7));
  one.reset();
  EXPECT_FALSE(line.IsOpen(7));
  EXPECT_TRUE(line.IsOpen(8));
  two.reset();
  EXPECT_FALSE(line.IsOpen(8));
}

TEST(FinishLine, WaitsUntilAllThreadsAreThrough) {
  Recorder recorder;
  FinishLine line(&recorder);
  std::vector<std::thread> threads;
  for (int i = 1; i <= 8; ++i) {
    auto stretch = line.Open(10 * kMegabyte * i, {});
    threads.emplace_back([stretch = std::move(stretch)]() mutable {
      std::this_thread::yield();
      stretch.reset();
    });
  }
  line.WaitUntilClear();
  EXPECT_EQ(recorder.told.back(), 80 * kMegabyte);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace feedrate::tar
