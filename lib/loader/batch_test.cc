#include "lib/loader/batch.h"

#include <sys/resource.h>

#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/internal/worker_team.h"
#include "lib/loader/recipe.h"

namespace feedrate {
namespace {

const SampleShape kShape = {2, 8, 10};

std::vector<float> Full(float value) {
  return std::vector<float>(kShape.values(), value);
}

TEST(BatchMixTest, MixupKeepsTheSum) {
  const MixPlan plan = DrawMix({MixKind::kMixup, 0.8}, kShape, 5);
  EXPECT_GT(plan.own_share, 0);
  EXPECT_LT(plan.own_share, 1);
  std::vector<float> a = Full(1), b = Full(3);
  MixPair(plan, kShape, a.data(), b.data());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], plan.own_share * 1 + (1 - plan.own_share) * 3, 1e-6);
    EXPECT_NEAR(a[i] + b[i], 4, 1e-6);
  }
}

TEST(BatchMixTest, CutMixSwapsTheShareItNames) {
  int boxes = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const MixPlan plan = DrawMix({MixKind::kCutMix, 1}, kShape, seed);
    std::vector<float> a = Full(0), b = Full(1);
    MixPair(plan, kShape, a.data(), b.data());
    double from_partner = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i] + b[i], 1);
      from_partner += a[i];
    }
    EXPECT_NEAR(from_partner / a.size(), 1 - plan.own_share, 1e-9);
    boxes += plan.height > 0 && plan.width > 0;
  }
  EXPECT_GT(boxes, 10);
}

TEST(BatchMixTest, TheShareIsBeta) {
  // The variance of Beta(0.5, 0.5) is 1/8, that of Beta(1, 1) is 1/12.
  for (const auto& [alpha, variance] :
       {std::pair(0.5, 1 / 8.0), {1, 1 / 12.0}}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      const double share =
          DrawMix({MixKind::kMixup, alpha}, kShape, seed * 7919).own_share;
      sum += share;
      squares += share * share;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.01);
    EXPECT_NEAR(squares / kDraws - mean * mean, variance, 0.004);
  }
}

TEST(BatchMixTest, PartnersFaceEachOther) {
  for (int size : {1, 2, 7}) {
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(MixPartner(MixPartner(i, size), size), i);
    }
  }
  EXPECT_EQ(MixPartner(3, 7), 3);
}

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
    auto* const slot = static_cast<float*>(ring->Slot(position, &waited_ns_));
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

TEST_F(BatchRingTest, ABatchIsMixedByItsPlaceInTheEpoch) {
  BatchRingOptions options = Options(12, MixKind::kMixup);
  const auto shares = [this](const BatchRingOptions& options) {
    BatchRing ring(options);
    ring.SetBuffers({one_.data(), two_.data()});
    std::vector<double> found;
    for (int64_t p = 0; p < options.count; ++p) {
      Fill(&ring, p);
      if (p % 4 == 3) found.push_back((*ring.Next())->mix.own_share);
    }
    return found;
  };
  const std::vector<double> all = shares(options);
  options.count = 4;
  options.first_mix = 2;
  EXPECT_THAT(shares(options), ElementsAre(all[2]));
  options.first_mix = 0;
  options.mix_step = 2;
  options.count = 8;
  EXPECT_THAT(shares(options), ElementsAre(all[0], all[2]));
}

TEST_F(BatchRingTest, AConsumerCanWaitForALimitedTime) {
  BatchRing ring(Options(4));
  ring.SetBuffers({one_.data()});
  EXPECT_FALSE(ring.WaitFor(0.001));
  for (int64_t p = 0; p < 4; ++p) Fill(&ring, p);
  EXPECT_TRUE(ring.WaitFor(1000));
  EXPECT_TRUE(ring.Next().ok());
  EXPECT_TRUE(ring.WaitFor(1000));
  EXPECT_EQ(*ring.Next(), nullptr);
}

TEST(BatchMixTest, CutMixSwapsTheSamePixelsInBothLayouts) {
  SampleShape pixels = kShape;
  pixels.format = SampleFormat::kFloatPixels;
  const MixPlan plan = DrawMix({MixKind::kCutMix, 1}, kShape, 4);
  std::vector<float> a(kShape.values(), 1), b(kShape.values(), 2);
  std::vector<float> c = a, d = b;
  MixPair(plan, kShape, a.data(), b.data());
  MixPair(plan, pixels, c.data(), d.data());
  for (int channel = 0; channel < kShape.channels; ++channel) {
    for (int i = 0; i < kShape.height * kShape.width; ++i) {
      ASSERT_EQ(a[channel * kShape.height * kShape.width + i],
                c[i * kShape.channels + channel]);
    }
  }
  EXPECT_NE(a, std::vector<float>(kShape.values(), 1));
}

TEST(PageMemoryTest, BatchesStartAtALargePage) {
  const std::unique_ptr<BatchMemory> memory = PageMemory();
  // Odd sizes, so that the kernel's own places are not all aligned.
  std::vector<std::unique_ptr<MemoryBlock>> blocks;
  for (const size_t bytes : {4096, 12288, 4096, 5 << 20, 4096}) {
    auto block = memory->Allocate(bytes);
    ASSERT_TRUE(block.ok()) << block.status();
    float* const data = (*block)->data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (2 << 20), 0) << bytes;
    data[bytes / sizeof(float) - 1] = 1;
    blocks.push_back(*std::move(block));
  }
}

// Like memory of a device: busy until its work is done.
class WorkingBlock : public MemoryBlock {
 public:
  float* data() const override { return nullptr; }
  void UsedBy(void*) override { busy_ = true; }
  bool busy() const override { return busy_; }
  void WaitUntilIdle() override { busy_ = false; }

 private:
  bool busy_ = false;
};

class WorkingMemory : public BatchMemory {
 public:
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t) override {
    ++allocated;
    return std::make_unique<WorkingBlock>();
  }
  int allocated = 0;
};

TEST(BlockPoolTest, BusyBlocksAreUsedWhenThePoolIsFull) {
  WorkingMemory memory;
  BlockPool pool(2);
  const auto take = [&] { return pool.Take(8, &memory).value(); };
  std::vector<std::unique_ptr<MemoryBlock>> blocks;
  for (int i = 0; i < 2; ++i) blocks.push_back(take());
  const MemoryBlock* const first = blocks[0].get();
  const MemoryBlock* const second = blocks[1].get();
  blocks[0]->UsedBy(nullptr);
  pool.GiveBack(std::move(blocks[0]), 8);
  // There is room for another: nobody waits for the busy one.
  auto third = take();
  EXPECT_EQ(memory.allocated, 3);
  // One that is idle comes first.
  pool.GiveBack(std::move(blocks[1]), 8);
  auto idle = take();
  EXPECT_EQ(idle.get(), second);
  // All are busy: the one that was given back first, after its work.
  idle->UsedBy(nullptr);
  pool.GiveBack(std::move(idle), 8);
  const auto waited = take();
  EXPECT_EQ(waited.get(), first);
  EXPECT_FALSE(waited->busy());
  EXPECT_EQ(memory.allocated, 3);
}

TEST(BoundedQueueTest, KeepsTheOrderAndTheBound) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  std::atomic<bool> pushed{false};
  std::thread writer([&] {
    EXPECT_TRUE(queue.Push(3));
    pushed = true;
  });
  EXPECT_FALSE(pushed);  // Full: it cannot have been pushed.
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TransformSpec Steps(std::vector<std::string> params) {
  TransformSpec spec;
  spec.transform = "Several";
  spec.native_op = kStepsOp;
  spec.params = std::move(params);
  return spec;
}

// Each stack takes 8 MB of addresses, of which the process gets 512 MB more.
void MakeTooManyWorkers() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * 4096 + (512 << 20);
  const rlimit few = {limit, limit};
  setrlimit(RLIMIT_AS, &few);
  const auto team = WorkerTeam::Make(1000);
  std::cerr << team.status().message();
  std::_Exit(team.ok() ? 0 : 3);
}

TEST(WorkerTeamTest, SaysThatThereIsNoRoomForMoreThreads) {
  EXPECT_EXIT(MakeTooManyWorkers(), ::testing::ExitedWithCode(3),
              "cannot start thread [0-9]+ of 1000: Resource temporarily "
              "unavailable; ask for fewer workers");
}

TEST(RecipeTest, ATransformIsOneStep) {
  TransformSpec spec;
  spec.native_op = "cv::flip";
  spec.params = {"flip_code=1"};
  const auto steps = StepsOf(spec);
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ((*steps)[0].one_of[0].native_op, "cv::flip");
  EXPECT_EQ((*steps)[0].probability, 1);
  EXPECT_TRUE(StepsOf(TransformSpec())->empty());
}

TEST(RecipeTest, StepsWithAlternatives) {
  const auto steps = StepsOf(
      Steps({"step1=0.5 cv::flip{flip_code=1}",
             "step2=cv::bitwise_not | cv::blur{ksize=(3,3);border_mode=X}"}));
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[0].probability, 0.5);
  EXPECT_THAT((*steps)[0].one_of[0].params, ElementsAre("flip_code=1"));
  ASSERT_EQ((*steps)[1].one_of.size(), 2u);
  EXPECT_EQ((*steps)[1].probability, 1) << "words before a space are no number";
  EXPECT_EQ((*steps)[1].one_of[0].native_op, "cv::bitwise_not");
  EXPECT_EQ((*steps)[1].one_of[0].transform, "Several");
  EXPECT_THAT((*steps)[1].one_of[1].params,
              ElementsAre("ksize=(3,3)", "border_mode=X"));
}

TEST(RecipeTest, NamesTheStepThatIsWrong) {
  const auto message = [](const std::string& step) {
    return std::string(StepsOf(Steps({step})).status().message());
  };
  EXPECT_THAT(message("flip"), HasSubstr("begin with step1="));
  EXPECT_THAT(message("step=1.5 cv::flip"), HasSubstr("0..1"));
  EXPECT_THAT(message("step=cv::flip{flip_code=1"), HasSubstr("closing brace"));
  EXPECT_THAT(message("step=cv::flip |"), HasSubstr("no operation"));
}

using ::testing::HasSubstr;

TransformSpec MixSpec(const std::string& op,
                      std::vector<std::string> params = {}) {
  return {"Mixup", op, std::move(params), ""};
}

TEST(MixSpecTest, WordsOfTheTransformSets) {
  const TransformSpec mixup = MixSpec(kMixupOp, {"alpha=0.8"});
  EXPECT_EQ(MixOptionsOf(mixup)->kind, MixKind::kMixup);
  EXPECT_EQ(MixOptionsOf(mixup)->alpha, 0.8);
  EXPECT_EQ(MixOptionsOf(MixSpec(kCutMixOp))->kind, MixKind::kCutMix);
  EXPECT_EQ(MixOptionsOf(MixSpec(kCutMixOp))->alpha, 1);
  EXPECT_EQ(MixOptionsOf(MixSpec("cv::flip"))->kind, MixKind::kNone);
}

TEST(MixSpecTest, MistakesAreNamed) {
  TransformSpec spec = MixSpec(kMixupOp);
  for (const std::string alpha : {"0", "-1"}) {
    spec.params = {"alpha=" + alpha};
    EXPECT_THAT(std::string(MixOptionsOf(spec).status().message()),
                HasSubstr("alpha " + alpha));
  }
  spec.params = {"beta=1"};
  EXPECT_THAT(std::string(MixOptionsOf(spec).status().message()),
              HasSubstr("beta"));
}

}  // namespace
}  // namespace feedrate
