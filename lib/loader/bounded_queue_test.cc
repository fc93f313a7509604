#include "lib/loader/bounded_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(BoundedQueueTest, KeepsTheOrderAndTheBound) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  std::atomic<bool> pushed{false};
  std::thread writer([&] {
    EXPECT_TRUE(queue.Push(3));
    pushed = true;
  });
  EXPECT_FALSE(pushed);  // Full: it cannot have gone in.
  EXPECT_EQ(queue.Pop(), 1);
  writer.join();
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), 3);
  // Two of two, two of two, one of two.
  EXPECT_NEAR(queue.MeanFill(), 5.0 / 6, 1e-9);
}

TEST(BoundedQueueTest, AClosedQueueGivesWhatItHas) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.Push(std::make_unique<int>(7)));
  queue.Close();
  EXPECT_FALSE(queue.Push(std::make_unique<int>(8)));
  EXPECT_EQ(**queue.Pop(), 7);
  EXPECT_FALSE(queue.Pop().has_value());
}

TEST(BoundedQueueTest, ClosingWakesWhoWaits) {
  BoundedQueue<int> empty(1), full(1);
  ASSERT_TRUE(full.Push(0));
  std::thread reader([&] { EXPECT_FALSE(empty.Pop().has_value()); });
  std::thread writer([&] { EXPECT_FALSE(full.Push(1)); });
  empty.Close();
  full.Close();
  reader.join();
  writer.join();
}

TEST(BoundedQueueTest, NothingIsLostBetweenManyThreads) {
  constexpr int kEach = 500, kThreads = 3;
  BoundedQueue<int> queue(4);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> writers, readers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&] {
      for (int i = 1; i <= kEach; ++i) ASSERT_TRUE(queue.Push(i));
    });
    readers.emplace_back([&] {
      while (const auto value = queue.Pop()) sum += *value;
    });
  }
  for (std::thread& writer : writers) writer.join();
  queue.Close();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(sum, kThreads * kEach * (kEach + 1) / 2);
}

}  // namespace
}  // namespace feedrate
