#include "lib/measure/preflight.h"

#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/fake_subject.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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

// 20 images a second is the first speed that counts as slow.
TEST(PreflightTest, TheThresholdIsInclusive) {
  PreflightPolicy policy;
  policy.slow_threshold_s = 0.0625;  // Exact in binary, and so are its sums.
  EXPECT_TRUE(Look(policy, 0.0625).stops_early);
  EXPECT_FALSE(Look(policy, 0.0624).stops_early);
  EXPECT_THAT(Look(policy, 0.0625).reason,
              HasSubstr("0.0625 s per image over 10 in the preflight"));
}

TEST(PreflightTest, FirstCallCostCounts) {
  FakeSubject subject([](int64_t call) { return call == 0 ? 1.0 : 0.001; });
  const auto seen = RunPreflight(PreflightPolicy(), 1000, 1, "image", &subject);
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen->stops_early);
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

}  // namespace
}  // namespace feedrate
