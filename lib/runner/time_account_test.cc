#include "lib/runner/time_account.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ContainsRegex;

TEST(TimeAccountTest, BooksWhatAnEntryLives) {
  TimeAccount account;
  {
    const TimeAccount::Entry entry(&account, Spending::kTimed);
    absl::SleepFor(absl::Milliseconds(5));
  }
  absl::SleepFor(absl::Milliseconds(5));
  EXPECT_GE(account.Seconds(Spending::kTimed), 0.005);
  EXPECT_EQ(account.Seconds(Spending::kMedia), 0);
  EXPECT_GE(account.Total(), account.Seconds(Spending::kTimed) + 0.005);
  EXPECT_GT(account.MeasuredShare(), 0);
  EXPECT_LT(account.MeasuredShare(), 1);
  EXPECT_THAT(account.Text(), ContainsRegex("import 0.0%.*timed .*harness "));
}

}  // namespace
}  // namespace feedrate
