#include "lib/adapters/worker/timing_loop.h"

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

// A clock that a read moves by 1 and a call by what the test says.
class FakeTime {
 public:
  Timings Time(const TimingPlan& plan, int64_t call_ns) {
    return TimeCalls(
        plan, [this] { return now_ += 1; },
        [this, call_ns](int64_t item) {
          items_.push_back(item);
          now_ += call_ns;
        });
  }
  const std::vector<int64_t>& items() const { return items_; }

 private:
  int64_t now_ = 1000;
  std::vector<int64_t> items_;
};

TEST(TimingLoopTest, OneSampleACallRoundTheItems) {
  FakeTime time;
  TimingPlan plan;
  plan.first = 4;
  plan.count = 5;
  plan.num_items = 3;
  const Timings timings = time.Time(plan, 10);
  EXPECT_THAT(time.items(), ElementsAre(1, 2, 0, 1, 2));
  EXPECT_THAT(timings.samples_ns, ElementsAre(11, 11, 11, 11, 11));
  EXPECT_EQ(timings.items, 5);
}

TEST(TimingLoopTest, ChunksReadTheClockAtTheirEndsAlone) {
  FakeTime time;
  TimingPlan plan;
  plan.count = 7;
  plan.num_items = 100;
  plan.chunk = 3;
  const Timings timings = time.Time(plan, 10);
  EXPECT_THAT(time.items(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(timings.samples_ns, ElementsAre(31, 31, 11));
  EXPECT_EQ(timings.items, 7);
}

TEST(TimingLoopTest, StopsAfterTheChunkThatPassesTheLimit) {
  FakeTime time;
  TimingPlan plan;
  plan.count = 1000;
  plan.num_items = 1000;
  plan.chunk = 2;
  plan.limit_ns = 50;
  const Timings timings = time.Time(plan, 10);
  EXPECT_THAT(timings.samples_ns, ElementsAre(21, 21, 21));
  EXPECT_EQ(timings.items, 6);
}

TEST(TimingLoopTest, AChunkLargerThanTheCountIsOneSample) {
  FakeTime time;
  TimingPlan plan;
  plan.count = 2;
  plan.num_items = 1;
  plan.chunk = 1000;
  EXPECT_THAT(time.Time(plan, 10).samples_ns, ElementsAre(21));
}

TEST(TimingLoopTest, ExceptionsPassThrough) {
  TimingPlan plan;
  plan.count = 1;
  plan.num_items = 1;
  EXPECT_THROW(TimeCalls(plan, MonotonicNs,
                         [](int64_t) { throw std::runtime_error("x"); }),
               std::runtime_error);
}

TEST(TimingLoopTest, APairOfReadsTakesSomeTime) {
  EXPECT_GT(ClockPairSeconds(), 1e-9);
  EXPECT_LT(ClockPairSeconds(), 1e-3);
}

}  // namespace
}  // namespace feedrate
