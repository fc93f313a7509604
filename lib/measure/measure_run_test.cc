#include "lib/measure/measure_run.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/subject.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A subject with simulated times.
class FakeSubject : public Subject {
 public:
  // Returns the seconds that call number `call`, counted over all requests,
  // takes.
  using CallTime = std::function<double(int64_t call)>;

  explicit FakeSubject(CallTime call_time) : call_time_(std::move(call_time)) {}

  absl::StatusOr<TimeReply> Time(const TimeRequest& request) override {
    requests.push_back(request);
    if (!error.ok()) return error;
    TimeReply timing;
    double elapsed_s = 0;
    while (timing.items() < request.count &&
           (request.limit_s == 0 || elapsed_s <= request.limit_s)) {
      double sample_s = clock_s;
      const int64_t calls =
          std::min(request.chunk, request.count - timing.items());
      for (int64_t i = 0; i < calls; ++i) sample_s += call_time_(calls_made++);
      timing.set_items(timing.items() + calls);
      timing.add_samples_s(sample_s);
      elapsed_s += sample_s;
    }
    if (gpu != nullptr) *timing.mutable_device() = gpu();
    if (waited_s.has_value()) timing.set_waited_s(*waited_s);
    return timing;
  }
  NoiseCounters Count() override {
    return counts.empty() ? NoiseCounters() : counts[counted++ % counts.size()];
  }
  double clock_pair_s() const override { return clock_s; }

  // What a GPU reports with each answer. Null means that it is not a GPU.
  std::function<DeviceReply()> gpu;
  double clock_s = 0;
  std::optional<double> waited_s;
  absl::Status error;
  std::vector<NoiseCounters> counts;
  std::vector<TimeRequest> requests;
  int64_t calls_made = 0;
  size_t counted = 0;

 private:
  const CallTime call_time_;
};

constexpr double kClock = 80e-9;

TEST(ChunkTest, LongCallsAreTimedOneByOne) {
  const ChunkChoice choice = ChooseChunk(ChunkPolicy(), 10e-6, kClock, 1000);
  EXPECT_EQ(choice.chunk, 1);
  EXPECT_EQ(choice.count, 1000);
}

TEST(ChunkTest, TheClockStaysUnderOnePercent) {
  for (const double call_s : {13e-9, 130e-9, 1.3e-6, 5.3e-6, 9.7e-6}) {
    const ChunkChoice choice =
        ChooseChunk(ChunkPolicy(), call_s + kClock, kClock, 1000);
    EXPECT_LE(kClock / (choice.chunk * call_s), 0.01) << call_s;
    // But not by much: more samples are better.
    EXPECT_GE(kClock / ((choice.chunk - 1) * call_s), 0.01) << call_s;
  }
}

TEST(ChunkTest, FewItemsArePassedOverAgain) {
  const ChunkChoice choice =
      ChooseChunk(ChunkPolicy(), 100e-9 + kClock, kClock, 20);
  EXPECT_EQ(choice.chunk, 80);
  EXPECT_EQ(choice.count, 80);
}

TEST(ChunkTest, ACallThatTakesNothingHasABound) {
  const ChunkChoice choice = ChooseChunk(ChunkPolicy(), kClock, kClock, 100);
  EXPECT_EQ(choice.chunk, 8000);
  EXPECT_EQ(choice.count, 8000);
}

TEST(ChunkTest, NoChunksWhenNotWanted) {
  ChunkPolicy policy;
  policy.chunk_below_s = 0;
  EXPECT_EQ(ChooseChunk(policy, 1e-9, kClock, 20).chunk, 1);
}

TEST(ChunkTest, AGpuHasItsOwn) {
  ChunkPolicy policy;
  policy.fixed = 64;
  policy.min_samples = 20;
  ChunkChoice choice = ChooseChunk(policy, 1e-3, 1e-7, 1000);
  EXPECT_EQ(choice.chunk, 64);
  // Two passes: 32 samples.
  EXPECT_EQ(choice.count, 2000);
  choice = ChooseChunk(policy, 1e-3, 1e-7, 5000);
  EXPECT_EQ(choice.count, 5000);
}

TEST(ChunkTest, LongCallsOnAGpuNeedNoMore) {
  ChunkPolicy policy;
  policy.fixed = 64;
  policy.min_samples = 20;
  policy.enough_s = 0.1;
  EXPECT_EQ(ChooseChunk(policy, 1e-3, 1e-7, 24).chunk, 64);
  EXPECT_EQ(ChooseChunk(policy, 0.03, 1e-7, 24).chunk, 4);
  const ChunkChoice choice = ChooseChunk(policy, 1.5, 1e-7, 24);
  EXPECT_EQ(choice.chunk, 1);
  EXPECT_EQ(choice.count, 24) << "one pass, which has 20 samples";
}

Preflight Look(const PreflightPolicy& policy, double per_item_s,
               int64_t num_items = 1000) {
  FakeSubject subject([=](int64_t) { return per_item_s; });
  const auto seen = RunPreflight(policy, num_items, 1, "image", &subject);
  EXPECT_TRUE(seen.ok()) << seen.status();
  return *seen;
}

TEST(PreflightTest, AQuickTransformGoesOn) {
  const Preflight seen = Look(PreflightPolicy(), 0.001);
  EXPECT_FALSE(seen.stops_early);
  EXPECT_EQ(seen.items, 10);
  EXPECT_DOUBLE_EQ(seen.per_item_s, 0.001);
}

// 20 images per second is the threshold of slow.
TEST(PreflightTest, TheThresholdIsInclusive) {
  PreflightPolicy policy;
  policy.slow_threshold_s = 0.0625;  // Exact in binary, as are its sums.
  EXPECT_TRUE(Look(policy, 0.0625).stops_early);
  EXPECT_FALSE(Look(policy, 0.0624).stops_early);
  EXPECT_THAT(Look(policy, 0.0625).reason,
              HasSubstr("0.0625 s per image over 10 in the preflight"));
  EXPECT_EQ(Look(policy, 0.0625).slow_from_s, 0.0625);
}

// Ten calls of 0.01 s, and 0.9 s in which other programs had the processor.
TEST(PreflightTest, WaitsForAProcessorAreNotSlowness) {
  FakeSubject subject([](int64_t call) { return call == 3 ? 0.91 : 0.01; });
  subject.waited_s = 0.9;
  const auto look = [&] {
    subject.calls_made = 0;
    return *RunPreflight(PreflightPolicy(), 1000, 1, "image", &subject);
  };
  EXPECT_FALSE(look().stops_early);
  EXPECT_NEAR(look().per_item_s, 0.01, 1e-9);
  // Between samples, too.
  subject.waited_s = 5;
  EXPECT_NEAR(look().per_item_s, 0.01, 1e-9);
  subject.waited_s = 0.3;
  EXPECT_TRUE(look().stops_early);
  EXPECT_THAT(look().reason, HasSubstr("0.07 s per image over 10"));
  EXPECT_THAT(look().reason, HasSubstr("waited 0.3 s for a processor"));
}

TEST(PreflightTest, FirstCallCostCounts) {
  FakeSubject subject([](int64_t call) { return call == 0 ? 1.0 : 0.001; });
  const auto seen = RunPreflight(PreflightPolicy(), 1000, 1, "image", &subject);
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen->stops_early);
}

TEST(PreflightTest, TheFirstCallOnAGpuIsNotTimed) {
  FakeSubject subject([](int64_t call) { return call == 0 ? 1.0 : 0.001; });
  PreflightPolicy policy;
  policy.first_items = 1;
  const auto seen = RunPreflight(policy, 1000, 1, "image", &subject);
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(seen->stops_early);
  EXPECT_EQ(seen->items, 10);
}

TEST(PreflightTest, SmallDataSetsHaveFewerItems) {
  EXPECT_EQ(Look(PreflightPolicy(), 0.001, 3).items, 3);
}

TEST(PreflightTest, TooLongStopsWhateverTheThreshold) {
  PreflightPolicy policy;
  policy.slow_threshold_s = 100;
  const Preflight seen = Look(policy, 30);
  EXPECT_TRUE(seen.stops_early);
  EXPECT_EQ(seen.items, 3);
  EXPECT_THAT(seen.reason, HasSubstr("more than 60 s"));
  EXPECT_FALSE(seen.slow_from_s.has_value());
}

TEST(PreflightTest, SlowOnesRunWhenAskedTo) {
  PreflightPolicy policy;
  policy.slow_skip = false;
  EXPECT_FALSE(Look(policy, 1).stops_early);
}

TEST(PreflightTest, AFailureIsPassedOn) {
  FakeSubject subject([](int64_t) { return 0.0; });
  subject.error = absl::AbortedError("killed by SIGSEGV");
  EXPECT_EQ(RunPreflight(PreflightPolicy(), 10, 1, "image", &subject).status(),
            subject.error);
}

TEST(WarmUpTest, EndsAfterThreeWindowsWhenNothingChanges) {
  FakeSubject subject([](int64_t) { return 0.001; });
  const auto warm_up = RunWarmUp(WarmUpPolicy(), 1000, 1, &subject);
  ASSERT_TRUE(warm_up.ok());
  EXPECT_TRUE(warm_up->stable);
  EXPECT_EQ(warm_up->passes, 15);
  EXPECT_EQ(subject.requests[0].count, 10);
  EXPECT_DOUBLE_EQ(warm_up->per_item_s, 0.001);
}

TEST(WarmUpTest, ASlowFirstCallDoesNotKeepItBusy) {
  FakeSubject subject([](int64_t call) { return call == 0 ? 0.5 : 0.001; });
  const auto warm_up = RunWarmUp(WarmUpPolicy(), 1000, 1, &subject);
  ASSERT_TRUE(warm_up.ok());
  EXPECT_EQ(warm_up->passes, 15);
}

TEST(WarmUpTest, GoesOnWhileItGetsFaster) {
  // Halves every 50 calls until call 300.
  FakeSubject subject([](int64_t call) {
    double time_s = 0.0064;
    for (int64_t at = 50; at <= call && at <= 300; at += 50) time_s /= 2;
    return time_s;
  });
  const auto warm_up = RunWarmUp(WarmUpPolicy(), 1000, 1, &subject);
  ASSERT_TRUE(warm_up.ok());
  EXPECT_GT(warm_up->passes, 35);
  EXPECT_NEAR(warm_up->per_item_s, 0.0001, 1e-9);
}

TEST(WarmUpTest, WaitsForTheClockOfAGpu) {
  // The times are constant, as for a short transform that is limited by the
  // host; the clock rises for 30 passes.
  FakeSubject subject([](int64_t) { return 0.0001; });
  int reads = 0;
  subject.gpu = [&reads] {
    DeviceReply gpu;
    gpu.set_max_clock_mhz(1980);
    gpu.add_clocks_mhz(std::min<int64_t>(1980, 345 + 55 * ++reads));
    return gpu;
  };
  WarmUpPolicy policy;
  policy.chunk = 10;
  policy.clock_within = 0.02;
  auto warm_up = RunWarmUp(policy, 1000, 1, &subject);
  ASSERT_TRUE(warm_up.ok());
  EXPECT_TRUE(warm_up->stable);
  EXPECT_GE(warm_up->passes, 33);
  EXPECT_LT(warm_up->passes, 40);
  EXPECT_EQ(subject.requests[0].chunk, 10);
  // A clock that never settles ends at the limit, and is reported as unstable.
  subject.gpu = [&reads] {
    DeviceReply gpu;
    gpu.add_clocks_mhz(++reads % 2 == 0 ? 1980 : 1000);
    return gpu;
  };
  policy.max_passes = 50;
  warm_up = RunWarmUp(policy, 1000, 1, &subject);
  ASSERT_TRUE(warm_up.ok());
  EXPECT_FALSE(warm_up->stable);
  EXPECT_EQ(warm_up->passes, 50);
}

TEST(WarmUpTest, EndsAtItsLimits) {
  FakeSubject slow([](int64_t) { return 0.045; });
  EXPECT_EQ(RunWarmUp(WarmUpPolicy(), 1000, 1, &slow)->passes, 5);
  WarmUpPolicy policy;
  policy.max_s = 1e9;
  policy.max_passes = 40;
  FakeSubject restless([](int64_t call) { return 1e-6 * (call + 1); });
  const auto warm_up = RunWarmUp(policy, 1000, 1, &restless);
  EXPECT_EQ(warm_up->passes, 40);
  EXPECT_FALSE(warm_up->stable);
}

TEST(WarmUpTest, EndsWithAPassOverAllItems) {
  FakeSubject subject([](int64_t) { return 0.001; });
  ASSERT_TRUE(RunWarmUp(WarmUpPolicy(), 1000, 1, &subject).ok());
  ASSERT_EQ(subject.requests.size(), 16);
  EXPECT_EQ(subject.requests.back().count, 1000);
  EXPECT_EQ(subject.requests.back().limit_s, 2);
}

TEST(WarmUpTest, SmallDataSetsWarmUpOnAllOfIt) {
  FakeSubject subject([](int64_t) { return 0.001; });
  ASSERT_TRUE(RunWarmUp(WarmUpPolicy(), 2, 1, &subject).ok());
  EXPECT_EQ(subject.requests[0].count, 2);
  EXPECT_EQ(subject.requests.size(), 15);
}

TEST(WarmUpTest, AFailureIsPassedOn) {
  FakeSubject subject([](int64_t) { return 0.0; });
  subject.error = absl::UnknownError("TypeError");
  EXPECT_EQ(RunWarmUp(WarmUpPolicy(), 10, 1, &subject).status(), subject.error);
}

TEST(MeasureRunTest, TimesEachItemOnce) {
  FakeSubject subject([](int64_t call) { return 0.001 * (call + 1); });
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 4;
  request.per_call_s = 0.001;
  request.seed = 9;
  const auto result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->timing.items(), 4);
  EXPECT_THAT(result->timing.samples_s(),
              ElementsAre(0.001, 0.002, 0.003, 0.004));
  EXPECT_DOUBLE_EQ(result->elapsed_s, 0.01);
  EXPECT_EQ(subject.requests[0].seed, 9);
}

TEST(MeasureRunTest, ShortCallsComeInChunks) {
  FakeSubject subject([](int64_t) { return 1e-6; });
  subject.clock_s = 80e-9;
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 20;
  request.per_call_s = 1.08e-6;
  const auto result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->chunk, 8);
  EXPECT_EQ(result->timing.samples_s_size(), 3);
  EXPECT_LT(result->elapsed_s / 20e-6, 1.0125);
}

TEST(MeasureRunTest, WarmsTheCachesAgainFirst) {
  FakeSubject subject([](int64_t) { return 0.001; });
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 100;
  request.per_call_s = 0.001;
  request.rewarm_items = 10;
  const auto result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(subject.requests.size(), 2);
  EXPECT_EQ(subject.requests[0].count, 10);
  EXPECT_EQ(result->timing.items(), 100);
}

TEST(ChooseChunkTest, AShortRunIsRepeatedUntilItTakesLongEnough) {
  ChunkPolicy policy;
  policy.min_s = 0.02;
  const ChunkChoice choice = ChooseChunk(policy, 25e-6, kClock, 300);
  EXPECT_EQ(choice.count, 900) << "800 calls take 0.02 s";
  EXPECT_EQ(choice.chunk, 1);
  EXPECT_EQ(ChooseChunk(policy, 1e-3, kClock, 300).count, 300);
  EXPECT_EQ(ChooseChunk(policy, 0, kClock, 300).count % 300, 0);
}

TEST(MeasureRunTest, NoiseBetweenTheCountsIsNamed) {
  FakeSubject subject([](int64_t) { return 0.01; });
  subject.counts.resize(2);
  subject.counts[0].process.run_delay_s = 0;
  subject.counts[1].process.run_delay_s = 0.5;
  subject.counts[0].process.cpu_s = 2;
  subject.counts[1].process.cpu_s = 2.75;
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 100;
  request.per_call_s = 0.01;
  const auto result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->cpu_s, 0.75);
  EXPECT_THAT(result->noise.warnings, ElementsAre("contended", "noisy"));
}

TEST(MeasureRunTest, WaitsBetweenTwoCommandsAreNoNoise) {
  FakeSubject subject([](int64_t) { return 0.01; });
  subject.counts.resize(2);
  subject.counts[0].process.run_delay_s = 0;
  subject.counts[1].process.run_delay_s = 0.5;
  subject.waited_s = 0.001;
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 100;
  request.per_call_s = 0.01;
  auto result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->noise.warnings, IsEmpty());
  subject.waited_s = 0.5;
  result = MeasureRun(request, &subject, &noise, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->noise.warnings, ElementsAre("contended", "noisy"));
}

TEST(MeasureRunTest, AHangIsJudgedByWhatWasPredicted) {
  FakeSubject subject([](int64_t) { return 0.0; });
  subject.error = absl::DeadlineExceededError("hang");
  NoiseWatch noise{NoisePolicy(), true};
  RunRequest request;
  request.num_items = 1000;
  request.per_call_s = 0.02;
  request.hang_s = 30;
  EXPECT_EQ(MeasureRun(request, &subject, &noise, nullptr).status(),
            subject.error);
  EXPECT_DOUBLE_EQ(subject.requests[0].hang_s, 230);
}

TEST(MedianIsWideTest, NeedsAnInterval) {
  EXPECT_FALSE(MedianIsWide({}, 0.05));
  EXPECT_FALSE(MedianIsWide({1, 9}, 0.05));
  EXPECT_TRUE(MedianIsWide({100, 110, 90}, 0.05));
  EXPECT_FALSE(MedianIsWide({100, 110, 90}, 0));
  EXPECT_FALSE(MedianIsWide({100, 101, 99}, 0.05));
  EXPECT_TRUE(MedianIsWide({100, 101, 99}, 0.01));
}

}  // namespace
}  // namespace feedrate
