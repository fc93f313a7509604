#include "lib/loader/cuda/batch_queue.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/batch_mix.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(BatchQueueTest, PiecesStayWithinABatch) {
  BatchQueue queue(10, 4, 3);
  auto piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->batch, 0);
  EXPECT_THAT(piece->places, ElementsAre(0, 1, 2));
  EXPECT_EQ(piece->samples(), 3);
  piece = queue.Take(3);
  ASSERT_TRUE(piece.has_value());
  EXPECT_THAT(piece->places, ElementsAre(3));
  EXPECT_EQ(piece->PartnerOf(0), -1);
  piece = queue.Take(100);
  EXPECT_THAT(piece->places, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(piece->slot, 1);
  EXPECT_EQ(piece->PartnerOf(1), -1) << "nothing is mixed";
  piece = queue.Take(100);
  EXPECT_THAT(piece->places, ElementsAre(0, 1));
  EXPECT_EQ(piece->slot, 2);
  EXPECT_FALSE(queue.Take(1).has_value());
}

TEST(BatchQueueTest, EachTakesFromItsEnd) {
  // By cost: 2, 0, 1, 4, 3; then 5.
  const std::vector<double> costs = {2, 3, 1, 9, 8, 0};
  BatchQueue queue(6, 5, 2, /*paired=*/false,
                   [&](int64_t position) { return costs[position]; });
  EXPECT_THAT(queue.Take(2, BatchQueue::End::kHigh)->places, ElementsAre(4, 3));
  EXPECT_THAT(queue.Take(1, BatchQueue::End::kLow)->places, ElementsAre(2));
  EXPECT_THAT(queue.Take(9, BatchQueue::End::kHigh)->places, ElementsAre(0, 1));
  const auto last = queue.Take(9, BatchQueue::End::kLow);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->batch, 1);
  EXPECT_THAT(last->places, ElementsAre(0));
  EXPECT_FALSE(queue.Take(1, BatchQueue::End::kHigh).has_value());
}

TEST(BatchQueueTest, PairsCostWhatBothDo) {
  // Pairs 0 and 4, 1 and 3, and the middle with itself.
  const std::vector<double> costs = {5, 1, 3, 2, 5};
  BatchQueue queue(5, 5, 1, /*paired=*/true,
                   [&](int64_t position) { return costs[position]; });
  EXPECT_THAT(queue.Take(2, BatchQueue::End::kLow)->places, ElementsAre(1, 3));
  const auto rest = queue.Take(8, BatchQueue::End::kHigh);
  ASSERT_TRUE(rest.has_value());
  EXPECT_THAT(rest->places, ElementsAre(2, 0, 4));
  EXPECT_EQ(rest->PartnerOf(0), -1);
  EXPECT_EQ(rest->PartnerOf(1), 2);
  EXPECT_EQ(rest->PartnerOf(2), 1);
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
  EXPECT_EQ(d->samples(), 1);
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

void MakeEachSampleOnce(bool paired) {
  // The last batch is of 23.
  constexpr int64_t kCount = 10007;
  BatchQueue queue(kCount, 64, 3, paired, [](int64_t position) {
    return static_cast<double>(position * 37 % 64);
  });
  std::vector<std::atomic<int>> made(kCount);
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&, i] {
      const auto end =
          i % 2 == 0 ? BatchQueue::End::kLow : BatchQueue::End::kHigh;
      while (const auto piece = queue.Take(i % 2 == 0 ? 5 : 17, end)) {
        for (const int place : piece->places) {
          ++made[piece->batch * 64 + place];
        }
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

TEST(BatchQueueTest, ManyMakersMakeEachSampleOnce) {
  MakeEachSampleOnce(/*paired=*/false);
}

TEST(BatchQueueTest, AndSoTheyDoInPairs) {
  MakeEachSampleOnce(/*paired=*/true);
}

TEST(BatchQueueTest, PartnersAreInOnePiece) {
  for (const int size : {1, 2, 3, 7, 8}) {
    for (const int most : {1, 2, 4, 6, 64}) {
      SCOPED_TRACE(absl::StrCat(size, " by ", most));
      BatchQueue queue(size, 8, 1, /*paired=*/true);
      std::vector<int> made(size, 0);
      while (const auto piece = queue.Take(most)) {
        EXPECT_LE(piece->samples(), std::max(2, most));
        for (int i = 0; i < piece->samples(); ++i) {
          const int place = piece->places[i];
          ++made[place];
          const int partner = piece->PartnerOf(i);
          if (partner < 0) {
            EXPECT_EQ(place, size - 1 - place) << "only the middle has none";
            continue;
          }
          EXPECT_EQ(piece->places[partner], MixPartner(place, size));
          EXPECT_EQ(piece->PartnerOf(partner), i);
        }
      }
      EXPECT_EQ(made, std::vector<int>(size, 1));
    }
  }
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
