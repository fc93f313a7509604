#include "lib/adapters/worker/timing.h"

#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Takes batches, on a device with simulated time.
class FakeTransform : public PreparedTransform, public DeviceProbe {
 public:
  void Seed(uint64_t) override {}
  void Run(int64_t item) override { log.push_back(absl::StrCat("r", item)); }
  void RunChunk(int64_t first, int64_t count, int64_t) override {
    log.push_back(absl::StrCat("c", first, "+", count));
  }
  absl::StatusOr<Output> RunForOutput(int64_t) override {
    return absl::UnimplementedError("");
  }
  DeviceProbe* device() override { return this; }
  DeviceBytes BytesOf(int64_t item) override { return {item, 10}; }

  void Flush() override { log.push_back("f"); }
  void Begin() override { log.push_back("b"); }
  double End() override {
    log.push_back("e");
    return 0.25;
  }
  void ResetPeaks() override { log.push_back("reset"); }
  Memory Peaks() override { return {300, 400}; }
  double CopyBytesPerSecond() override { return 1; }
  std::string pci_bus_id() const override { return ""; }

  std::vector<std::string> log;
};

TimingPlan PlanFor(int64_t first, int64_t count, int64_t chunk) {
  TimingPlan plan;
  plan.first = first;
  plan.count = count;
  plan.num_items = 5;
  plan.chunk = chunk;
  return plan;
}

TEST(DeviceTimingTest, AChunkIsOneCallBetweenTwoMarks) {
  FakeTransform transform;
  const TimeReply reply =
      TimeOnDevice(PlanFor(4, 5, 3), true, &transform, nullptr);
  EXPECT_EQ(reply.items(), 5);
  EXPECT_THAT(reply.samples_s(), ElementsAre(0.25, 0.25));
  // Wraps around the items, and the last chunk is shorter.
  EXPECT_THAT(transform.log, ElementsAre("reset", "f", "b", "c4+3", "e", "f",
                                         "b", "c2+2", "e"));
  ASSERT_TRUE(reply.has_device());
  EXPECT_EQ(reply.device().bytes_in(), 4 + 0 + 1 + 2 + 3);
  EXPECT_EQ(reply.device().bytes_out(), 50);
  EXPECT_EQ(reply.device().peak_allocated_bytes(), 300);
  EXPECT_EQ(reply.device().peak_reserved_bytes(), 400);
  EXPECT_THAT(reply.device().clocks_mhz(), IsEmpty());
}

TEST(DeviceTimingTest, HotLeavesTheCachesAlone) {
  FakeTransform transform;
  TimeOnDevice(PlanFor(0, 3, 3), false, &transform, nullptr);
  EXPECT_THAT(transform.log, ElementsAre("reset", "b", "c0+3", "e"));
}

TEST(DeviceTimingTest, EverySampleHasItsClock) {
  FakeTransform transform;
  std::vector<GpuClock::Reading> readings(2);
  readings[0].mhz = 1980;
  readings[1].mhz = 1100;
  readings[1].throttle_reasons = 4;
  size_t read = 0;
  const ReadClock clock = [&]() -> std::optional<GpuClock::Reading> {
    return readings[read++ % 2];
  };
  const TimeReply reply =
      TimeOnDevice(PlanFor(0, 4, 2), true, &transform, clock);
  EXPECT_THAT(reply.device().clocks_mhz(), ElementsAre(1980, 1100));
  EXPECT_EQ(reply.device().throttle_reasons(), 4);
  EXPECT_FALSE(reply.device().has_temperature_c());
}

TEST(DeviceTimingTest, MemoryClocksTemperatureAndPowerCap) {
  FakeTransform transform;
  std::vector<GpuClock::Reading> readings = {{1980, 0, 3201, 50, 700.0},
                                             {1980, 0, 2619, 45, 600.0}};
  size_t read = 0;
  const ReadClock clock = [&]() -> std::optional<GpuClock::Reading> {
    return readings[read++ % 2];
  };
  const TimeReply reply =
      TimeOnDevice(PlanFor(0, 4, 2), true, &transform, clock);
  EXPECT_THAT(reply.device().memory_clocks_mhz(), ElementsAre(3201, 2619));
  EXPECT_EQ(reply.device().temperature_c(), 50);
  EXPECT_EQ(reply.device().power_limit_w(), 600);
}

TEST(DeviceTimingTest, AClockThatFailsIsNotHalfAnAnswer) {
  FakeTransform transform;
  int read = 0;
  const ReadClock clock = [&]() -> std::optional<GpuClock::Reading> {
    if (read++ == 1) return std::nullopt;
    GpuClock::Reading reading;
    reading.mhz = 1980;
    return reading;
  };
  const TimeReply reply =
      TimeOnDevice(PlanFor(0, 3, 1), true, &transform, clock);
  EXPECT_THAT(reply.device().clocks_mhz(), IsEmpty());
}

TEST(DeviceTimingTest, StopsAtItsLimit) {
  FakeTransform transform;
  TimingPlan plan = PlanFor(0, 1000, 1);
  plan.limit_ns = -1;
  EXPECT_EQ(TimeOnDevice(plan, true, &transform, nullptr).items(), 1);
}

TEST(HostProbeTest, TimesAndCopies) {
  HostProbe probe;
  probe.Begin();
  EXPECT_GE(probe.End(), 0);
  EXPECT_GT(probe.CopyBytesPerSecond(), 0);
}

// Delivers batches of the sizes it is given.
class ListStream : public BatchStream {
 public:
  explicit ListStream(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  absl::StatusOr<Batch> Next() override {
    if (at_ == sizes_.size()) return Batch();
    const int64_t items = sizes_[at_++];
    if (items < 0) return absl::DataLossError("a.jpg: no image");
    return Batch{items, items * 10};
  }
  absl::Status Finish(EpochReply* reply) override {
    reply->set_errors_total(3);
    return absl::OkStatus();
  }

 private:
  const std::vector<int64_t> sizes_;
  size_t at_ = 0;
};

StartEpoch Deliver(const std::vector<int64_t>& sizes) {
  return [sizes] { return std::make_unique<ListStream>(sizes); };
}

TEST(TimeEpochTest, CountsWhatWasDelivered) {
  EpochCommand command;
  command.set_count(7);
  const auto reply = TimeEpoch(command, Deliver({3, 3, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items(), 7);
  EXPECT_EQ(reply->batches(), 3);
  EXPECT_EQ(reply->bytes_out(), 70);
  EXPECT_EQ(reply->errors_total(), 3);
  ASSERT_EQ(reply->samples_s_size(), 3);
  EXPECT_GE(reply->elapsed_s(), reply->samples_s(0) + reply->samples_s(1));
  EXPECT_GE(reply->first_batch_s(), reply->startup_s());
  EXPECT_EQ(reply->consumer_s(), 0);
}

TEST(TimeEpochTest, TheStepIsPlayedAfterEachBatch) {
  EpochCommand command;
  // Long enough to be visible on a busy machine.
  command.set_consumer_s(0.2);
  const auto reply = TimeEpoch(command, Deliver({1, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GE(reply->consumer_s(), 0.4);
  EXPECT_GE(reply->elapsed_s(), reply->consumer_s());
  EXPECT_LT(reply->samples_s(1), reply->consumer_s())
      << "the step is not part of a batch's time";
}

TEST(TimeEpochTest, StopsAtTheLimit) {
  EpochCommand command;
  command.set_limit_s(1e-9);
  const auto reply = TimeEpoch(command, Deliver({1, 1, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->batches(), 1);
}

TEST(TimeEpochTest, StartingIsPartOfTheEpochAndOfTheFirstBatch) {
  const auto reply = TimeEpoch({}, [] {
    absl::SleepFor(absl::Milliseconds(20));
    return std::make_unique<ListStream>(std::vector<int64_t>{1});
  });
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GE(reply->startup_s(), 0.02);
  EXPECT_GE(reply->samples_s(0), 0.02);
  EXPECT_GE(reply->elapsed_s(), 0.02);
}

TEST(TimeEpochTest, WhatGoesWrongIsToldAsItIs) {
  const auto reply = TimeEpoch({}, Deliver({1, -1}));
  EXPECT_EQ(reply.status().message(), "a.jpg: no image");
  const auto none =
      TimeEpoch({}, []() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
        return absl::NotFoundError("no folder");
      });
  EXPECT_EQ(none.status().message(), "no folder");
}

// A clock that advances by 1 per read, and by a given amount per call.
class FakeTime {
 public:
  Timings Time(const TimingPlan& plan, int64_t call_ns) {
    return TimeCalls(
        plan, [this] { return now_ += 1; },
        [this, call_ns](int64_t item) {
          items_.push_back(item);
          now_ += call_ns;
        },
        [this] {
          now_ += 5;
          return Probe{++probes_, 1};
        });
  }
  const std::vector<int64_t>& items() const { return items_; }

 private:
  int64_t now_ = 1000;
  int64_t probes_ = 0;
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
  EXPECT_THROW(TimeCalls(
                   plan, MonotonicNs,
                   [](int64_t) { throw std::runtime_error("x"); }, TakeProbe),
               std::runtime_error);
}

TEST(TimingLoopTest, ProbesLieBetweenSamples) {
  FakeTime time;
  TimingPlan plan;
  plan.count = 5;
  plan.num_items = 5;
  plan.probe_every_ns = 20;
  const Timings timings = time.Time(plan, 10);
  EXPECT_THAT(timings.samples_ns, ElementsAre(11, 11, 11, 11, 11));
  // Before all, after at least 20 ns, and after all.
  EXPECT_THAT(timings.probes_at, ElementsAre(0, 2, 4, 5));
  ASSERT_EQ(timings.probes.size(), 4);
  EXPECT_EQ(timings.probes[3].wide_ns, 4);
}

TEST(TimingLoopTest, APairOfReadsTakesSomeTime) {
  EXPECT_GT(ClockPairSeconds(), 1e-9);
  EXPECT_LT(ClockPairSeconds(), 1e-3);
}

}  // namespace
}  // namespace feedrate
