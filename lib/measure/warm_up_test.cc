#include "lib/measure/warm_up.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "lib/measure/fake_subject.h"

namespace feedrate {
namespace {

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
  // Its times are the same from the start, as those of a short transform that
  // the host starts; the clock rises for 30 passes.
  FakeSubject subject([](int64_t) { return 0.0001; });
  int reads = 0;
  subject.gpu = [&reads] {
    GpuTiming gpu;
    gpu.max_clock_mhz = 1980;
    gpu.clocks_mhz = {std::min<int64_t>(1980, 345 + 55 * ++reads)};
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
  // One that never settles ends at the limit, and says so.
  subject.gpu = [&reads] {
    GpuTiming gpu;
    gpu.clocks_mhz = {++reads % 2 == 0 ? 1980 : 1000};
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

}  // namespace
}  // namespace feedrate
