#include "lib/loader/batch_ring.h"

#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

BatchRingOptions Options(int64_t count, MixKind mix = MixKind::kNone) {
  BatchRingOptions options;
  options.shape = {1, 1, 2};
  options.batch_size = 4;
  options.count = count;
  options.mix.kind = mix;
  return options;
}

class BatchRingTest : public ::testing::Test {
 protected:
  void Fill(BatchRing* ring, int64_t position) {
    float* const slot = ring->Slot(position, &waited_ns_);
    ASSERT_NE(slot, nullptr);
    slot[0] = slot[1] = static_cast<float>(position);
    ring->Done(position, position * 10, &mix_ns_);
  }
  std::vector<float> one_ = std::vector<float>(8);
  std::vector<float> two_ = std::vector<float>(8);
  int64_t waited_ns_ = 0;
  int64_t mix_ns_ = 0;
};

TEST_F(BatchRingTest, DeliversInOrderAndReusesBuffers) {
  BatchRing ring(Options(11));
  EXPECT_EQ(ring.batches(), 3);
  ring.SetBuffers({one_.data(), two_.data()});
  // The second batch is complete first.
  for (int64_t p : {7, 6, 5, 4, 3, 2, 1, 0}) Fill(&ring, p);
  const LoaderBatch* first = *ring.Next();
  EXPECT_EQ(first->data, one_.data());
  EXPECT_EQ(first->data[6], 3);
  EXPECT_THAT(first->items, ElementsAre(0, 10, 20, 30));
  const LoaderBatch* second = *ring.Next();
  EXPECT_EQ(second->index, 1);
  EXPECT_EQ(second->data, two_.data());
  for (int64_t p : {8, 9, 10}) Fill(&ring, p);
  const LoaderBatch* third = *ring.Next();
  EXPECT_EQ(third->data, one_.data());
  EXPECT_EQ(third->size, 3);
  EXPECT_EQ(*ring.Next(), nullptr);
  EXPECT_EQ(waited_ns_, 0);
  EXPECT_GT(ring.MeanFill(), 0);
}

TEST_F(BatchRingTest, AWorkerWaitsForABuffer) {
  BatchRing ring(Options(8));
  ring.SetBuffers({one_.data()});
  for (int64_t p = 0; p < 4; ++p) Fill(&ring, p);
  std::thread worker([&] {
    for (int64_t p = 4; p < 8; ++p) Fill(&ring, p);
  });
  EXPECT_EQ((*ring.Next())->data[0], 0);
  EXPECT_EQ((*ring.Next())->data[0], 4);
  worker.join();
}

TEST_F(BatchRingTest, EndWakesEverybody) {
  BatchRing ring(Options(8));
  ring.SetBuffers({one_.data()});
  std::thread worker([&] { EXPECT_EQ(ring.Slot(4, &waited_ns_), nullptr); });
  std::thread consumer(
      [&] { EXPECT_TRUE(absl::IsDataLoss(ring.Next().status())); });
  ring.End(absl::DataLossError("first"));
  ring.End(absl::InternalError("second"));
  worker.join();
  consumer.join();
}

TEST_F(BatchRingTest, MixesEachPairOnce) {
  BatchRing ring(Options(7, MixKind::kMixup));
  ring.SetBuffers({one_.data(), two_.data()});
  for (int64_t p = 0; p < 7; ++p) Fill(&ring, p);
  for (int64_t b = 0; b < 2; ++b) {
    const LoaderBatch* batch = *ring.Next();
    const double own = batch->mix.own_share;
    for (int i = 0; i < batch->size; ++i) {
      const int partner = MixPartner(i, batch->size);
      EXPECT_NEAR(batch->data[2 * i],
                  own * (4 * b + i) + (1 - own) * (4 * b + partner), 1e-5);
    }
  }
}

}  // namespace
}  // namespace feedrate
