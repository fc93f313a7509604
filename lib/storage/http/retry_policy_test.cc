#include "lib/storage/http/retry_policy.h"

#include <set>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

RetryPolicy Policy() {
  RetryPolicy policy;
  policy.retries = 5;
  policy.first_wait_s = 1;
  policy.longest_wait_s = 10;
  return policy;
}

// The clock is the test's own.
class RetryScheduleTest : public ::testing::Test {
 protected:
  double now_s_ = 1000;
  RetrySchedule schedule_{Policy(), [this] { return now_s_; }, 7};
  const absl::Status busy_ = absl::UnavailableError("503");
};

TEST_F(RetryScheduleTest, WaitsDoubleUpToTheLongest) {
  for (int round = 0; round < 200; ++round) {
    const double doubled[] = {1, 2, 4, 8, 10};
    for (int failed = 1; failed <= 5; ++failed) {
      const auto at = schedule_.NextAttemptAt(busy_, failed, 0);
      ASSERT_TRUE(at.has_value());
      EXPECT_GE(*at - now_s_, doubled[failed - 1] / 2);
      EXPECT_LE(*at - now_s_, doubled[failed - 1]);
    }
    now_s_ += 17;
  }
}

TEST_F(RetryScheduleTest, ThoseWhoFailTogetherComeBackApart) {
  std::set<int> milliseconds;
  for (int i = 0; i < 100; ++i) {
    const auto at = schedule_.NextAttemptAt(busy_, 3, 0);
    milliseconds.insert(static_cast<int>((*at - now_s_) * 1000));
  }
  EXPECT_GT(milliseconds.size(), 80);
}

TEST_F(RetryScheduleTest, EndsAfterTheLastRetry) {
  EXPECT_TRUE(schedule_.NextAttemptAt(busy_, 5, 0).has_value());
  EXPECT_FALSE(schedule_.NextAttemptAt(busy_, 6, 0).has_value());
}

TEST_F(RetryScheduleTest, WhatTheServerAsksForCountsUpToTheLongest) {
  EXPECT_EQ(*schedule_.NextAttemptAt(busy_, 1, 5), now_s_ + 5);
  EXPECT_EQ(*schedule_.NextAttemptAt(busy_, 1, 3600), now_s_ + 10);
}

TEST_F(RetryScheduleTest, AFinalErrorIsNotRepeated) {
  for (const absl::Status& status :
       {absl::NotFoundError(""), absl::PermissionDeniedError(""),
        absl::UnauthenticatedError(""), absl::InvalidArgumentError(""),
        absl::CancelledError(""), absl::FailedPreconditionError("")}) {
    EXPECT_FALSE(schedule_.NextAttemptAt(status, 1, 0).has_value()) << status;
  }
  for (const absl::Status& status :
       {absl::DeadlineExceededError(""), absl::ResourceExhaustedError(""),
        absl::DataLossError("")}) {
    EXPECT_TRUE(schedule_.NextAttemptAt(status, 1, 0).has_value()) << status;
  }
}

TEST(RetryAfterTest, ReadsSecondsAndNothingElse) {
  EXPECT_EQ(RetryAfterSeconds("3"), 3);
  EXPECT_EQ(RetryAfterSeconds("0.5"), 0.5);
  EXPECT_EQ(RetryAfterSeconds(""), 0);
  EXPECT_EQ(RetryAfterSeconds("-4"), 0);
  EXPECT_EQ(RetryAfterSeconds("inf"), 0);
  EXPECT_EQ(RetryAfterSeconds("nan"), 0);
  EXPECT_EQ(RetryAfterSeconds("Wed, 21 Oct 2026 07:28:00 GMT"), 0);
}

}  // namespace
}  // namespace feedrate
