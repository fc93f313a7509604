#include "lib/adapters/worker/device_timing.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/host_probe.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Takes batches on a device whose time is made up.
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
  EXPECT_EQ(reply.items, 5);
  EXPECT_THAT(reply.samples_s, ElementsAre(0.25, 0.25));
  // Round through the items, and the last one shorter.
  EXPECT_THAT(transform.log, ElementsAre("reset", "f", "b", "c4+3", "e", "f",
                                         "b", "c2+2", "e"));
  ASSERT_TRUE(reply.device.has_value());
  EXPECT_EQ(reply.device->bytes_in, 4 + 0 + 1 + 2 + 3);
  EXPECT_EQ(reply.device->bytes_out, 50);
  EXPECT_EQ(reply.device->peak_allocated_bytes, 300);
  EXPECT_EQ(reply.device->peak_reserved_bytes, 400);
  EXPECT_THAT(reply.device->clocks_mhz, IsEmpty());
}

TEST(DeviceTimingTest, HotLeavesTheCachesAlone) {
  FakeTransform transform;
  TimeOnDevice(PlanFor(0, 3, 3), false, &transform, nullptr);
  EXPECT_THAT(transform.log, ElementsAre("reset", "b", "c0+3", "e"));
}

TEST(DeviceTimingTest, EverySampleHasItsClock) {
  FakeTransform transform;
  std::vector<GpuClock::Reading> readings = {{1980, 0}, {1100, 4}};
  size_t read = 0;
  const ReadClock clock = [&]() -> std::optional<GpuClock::Reading> {
    return readings[read++ % 2];
  };
  const TimeReply reply =
      TimeOnDevice(PlanFor(0, 4, 2), true, &transform, clock);
  EXPECT_THAT(reply.device->clocks_mhz, ElementsAre(1980, 1100));
  EXPECT_EQ(reply.device->throttle_reasons, 4);
}

TEST(DeviceTimingTest, AClockThatFailsIsNotHalfAnAnswer) {
  FakeTransform transform;
  int read = 0;
  const ReadClock clock = [&]() -> std::optional<GpuClock::Reading> {
    if (read++ == 1) return std::nullopt;
    return GpuClock::Reading{1980, 0};
  };
  const TimeReply reply =
      TimeOnDevice(PlanFor(0, 3, 1), true, &transform, clock);
  EXPECT_THAT(reply.device->clocks_mhz, IsEmpty());
}

TEST(DeviceTimingTest, StopsAtItsLimit) {
  FakeTransform transform;
  TimingPlan plan = PlanFor(0, 1000, 1);
  plan.limit_ns = -1;
  EXPECT_EQ(TimeOnDevice(plan, true, &transform, nullptr).items, 1);
}

TEST(HostProbeTest, TimesAndCopies) {
  HostProbe probe;
  probe.Begin();
  EXPECT_GE(probe.End(), 0);
  EXPECT_GT(probe.CopyBytesPerSecond(), 0);
}

}  // namespace
}  // namespace feedrate
