#include "lib/records/attempts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AttemptRankTest, OrdersAttemptsFromCleanToUseless) {
  const std::vector<int> ranks = {
      AttemptRank("ok", {"migrated"}),
      AttemptRank("ok", {"contended"}),
      AttemptRank("ok", {"contended", "migrated"}),
      AttemptRank("ok", {"throttled"}),
      AttemptRank("ok", {"contended", "throttled", "migrated"}),
      AttemptRank("ok", {"noisy"}),
      AttemptRank("ok", {"contended", "migrated", "noisy", "throttled"}),
      AttemptRank("early_stopped", {}),
      AttemptRank("crashed", {})};
  for (size_t i = 1; i < ranks.size(); ++i) EXPECT_LT(ranks[i - 1], ranks[i]);
  EXPECT_LT(AttemptRank("ok", {}), ranks[0]);
  EXPECT_EQ(AttemptRank("unsupported", {}), AttemptRank("early_stopped", {}));
  for (const char* status : {"failed", "timeout", "oom"}) {
    EXPECT_EQ(AttemptRank(status, {}), 32) << status;
  }
}

TEST(AttemptRankTest, WhatTheProgramItselfDoesIsNoDisturbance) {
  EXPECT_EQ(AttemptRank("ok", {"multithreaded", "noop"}), 0);
  Row row;
  row.set_status("ok");
  for (const char* warning : {"migrated", "multithreaded", "noop"}) {
    row.add_warnings(warning);
  }
  EXPECT_THAT(DisturbancesOf(row), IsEmpty());
  EXPECT_EQ(AttemptRank(row), AttemptRank("ok", {"migrated"}));
  row.add_warnings("contended");
  row.add_warnings("noisy");
  EXPECT_THAT(DisturbancesOf(row), ElementsAre("contended", "noisy"));
}

}  // namespace
}  // namespace feedrate
