#include "lib/loader/cuda/batch_queue.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(BatchQueueTest, PiecesStayWithinABatch) {
  BatchQueue queue(10, 4, 3);
  auto piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->first, 0);
  EXPECT_EQ(piece->count, 3);
  piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->first, 3);
  EXPECT_EQ(piece->count, 1);
  EXPECT_EQ(piece->at, 3);
  piece = queue.Take(100);
  EXPECT_EQ(piece->count, 4);
  EXPECT_EQ(piece->slot, 1);
  piece = queue.Take(100);
  EXPECT_EQ(piece->count, 2);
  EXPECT_EQ(piece->slot, 2);
  EXPECT_FALSE(queue.Take(1).has_value());
}

TEST(BatchQueueTest, BatchesComeInOrderWhenWhole) {
  BatchQueue queue(5, 2, 2);
  const auto a = queue.Take(1);
  const auto b = queue.Take(1);
  const auto c = queue.Take(2);
  queue.Done(*c);
  queue.Done(*b);
  queue.Done(*a);
  auto batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->first, 0);
  EXPECT_EQ((*batch)->slot, 0);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->first, 2);
  // The first slot is free again: the last sample has a place.
  const auto d = queue.Take(2);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->count, 1);
  EXPECT_EQ(d->slot, 0);
  queue.Done(*d);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->count, 1);
  batch = queue.Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_FALSE(batch->has_value());
}

TEST(BatchQueueTest, AFailureReachesTheConsumer) {
  BatchQueue queue(4, 2, 1);
  queue.Fail(absl::InternalError("a kernel failed"));
  queue.Fail(absl::InternalError("a later one"));
  EXPECT_FALSE(queue.Take(1).has_value());
  EXPECT_EQ(queue.Next().status().message(), "a kernel failed");
}

TEST(BatchQueueTest, ManyMakersMakeEachSampleOnce) {
  constexpr int64_t kCount = 10007;
  BatchQueue queue(kCount, 64, 3);
  std::vector<std::atomic<int>> made(kCount);
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&, i] {
      while (const auto piece = queue.Take(i % 2 == 0 ? 5 : 17)) {
        for (int k = 0; k < piece->count; ++k) ++made[piece->first + k];
        queue.Done(*piece);
      }
    });
  }
  int64_t delivered = 0;
  while (true) {
    const auto batch = queue.Next();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    ASSERT_EQ((*batch)->first, delivered);
    for (int k = 0; k < (*batch)->count; ++k) {
      ASSERT_EQ(made[delivered + k], 1);
    }
    delivered += (*batch)->count;
  }
  EXPECT_EQ(delivered, kCount);
  for (std::thread& maker : makers) maker.join();
}

TEST(BatchQueueTest, StopsEarly) {
  BatchQueue queue(100, 10, 2);
  std::thread maker([&] {
    while (const auto piece = queue.Take(10)) queue.Done(*piece);
  });
  ASSERT_TRUE(queue.Next()->has_value());
  queue.Fail(absl::OkStatus());
  maker.join();
  EXPECT_FALSE(queue.Next()->has_value());
}

}  // namespace
}  // namespace feedrate
