#include "lib/records/attempts.h"

#include <cstdlib>
#include <string>
#include <vector>

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

TEST(CommandAgainTest, LimitsAConfigToTheRows) {
  unsetenv("FEEDRATE_COMMAND");
  Row flip;
  flip.set_library("opencv");
  flip.set_transform("Flip");
  Row blur = flip;
  blur.set_transform("Blur");
  const std::vector<std::string> command = {
      "/opt/micro",          "--config=c.textproto", "--libraries", "a,b",
      "--transforms=Resize", "--output=old.jsonl",   "--resume",    "--seed=3",
      "--note=two words"};
  EXPECT_THAT(CommandAgain(command, {&flip, &blur}),
              ElementsAre("/opt/micro", "--config=c.textproto", "--seed=3",
                          "'--note=two words'", "--libraries=opencv",
                          "--transforms=Blur,Flip"));
  // Without transforms, those that were asked for stay.
  blur.clear_transform();
  EXPECT_THAT(
      CommandAgain(command, {&blur}),
      ElementsAre("/opt/micro", "--config=c.textproto", "--transforms=Resize",
                  "--seed=3", "'--note=two words'", "--libraries=opencv"));
  // Jobs of a file cannot be chosen.
  EXPECT_THAT(CommandAgain({"micro", "--jobs=j", "--output", "x"}, {&flip}),
              ElementsAre("micro", "--jobs=j"));
  EXPECT_THAT(CommandAgain({}, {&flip}), IsEmpty());
}

TEST(CommandAgainTest, NamesTheFrontCommandThatPeopleType) {
  setenv("FEEDRATE_COMMAND", "./feedrate", 1);
  Row row;
  row.set_library("opencv");
  EXPECT_THAT(CommandAgain({"/opt/bazel-bin/micro", "--jobs=j"}, {&row}),
              ElementsAre("./feedrate micro", "--jobs=j"));
  unsetenv("FEEDRATE_COMMAND");
}

}  // namespace
}  // namespace feedrate
