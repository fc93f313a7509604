#include "lib/runner/train/train_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr char kResult[] =
    "{\"event\":\"result\",\"version\":\"1\",\"wall_s\":0.5,"
    "\"steps_s\":[0.2,0.3],\"losses\":[2,1],\"grad_norms\":[1,1],"
    "\"phases\":{\"forward\":0.1},\"matmul_types\":{\"fp32\":4}}";

// A process that is a shell script; $1 is its rank where there are several.
TrainCommand Script(const std::string& script, int world_size = 1) {
  TrainCommand command;
  command.argv = {"/bin/sh", "-c", script, "sh"};
  command.world_size = world_size;
  command.store = absl::StrCat(testing::TempDir(), "/store");
  return command;
}

std::string Say(const std::string& json) {
  return absl::StrCat("echo '", json, "' >&3;");
}

TEST(TrainProcessesTest, TakesTheResult) {
  int64_t seen = 0;
  TrainCommand command = Script(
      Say("{\"event\":\"ready\"}") +
      Say("{\"event\":\"progress\",\"done\":7,\"total\":9}") + Say(kResult));
  command.progress = [&seen](int64_t done, int64_t) { seen = done; };
  const auto results = RunTrainProcesses(command);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].steps_s, (std::vector<double>{0.2, 0.3}));
  EXPECT_EQ((*results)[0].matmul_types.at("fp32"), 4);
  EXPECT_EQ(seen, 7);
}

absl::Status Failure(const TrainCommand& command) {
  return RunTrainProcesses(command).status();
}

TEST(TrainProcessesTest, ADeathHasItsSignalAndLastWords) {
  const absl::Status status = Failure(Script("echo oh no >&2; kill -SEGV $$"));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SIGSEGV"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("oh no"));
}

TEST(TrainProcessesTest, AnExitWithoutAResultIsADeath) {
  EXPECT_TRUE(absl::IsAborted(Failure(Script("exit 0"))));
}

TEST(TrainProcessesTest, ErrorsAreToldApart) {
  EXPECT_TRUE(absl::IsUnknown(Failure(Script(Say(
      "{\"event\":\"error\",\"kind\":\"failed\",\"error\":\"no such op\"}")))));
  EXPECT_TRUE(absl::IsResourceExhausted(Failure(Script(
      Say("{\"event\":\"error\",\"kind\":\"oom\",\"error\":\"full\"}")))));
  EXPECT_TRUE(absl::IsDataLoss(Failure(Script(Say("garbage")))));
  EXPECT_TRUE(absl::IsDataLoss(
      Failure(Script(Say("{\"event\":\"result\",\"wall_s\":1,\"steps_s\":[1,2],"
                         "\"losses\":[1]}")))));
}

TEST(TrainProcessesTest, SilenceEnds) {
  TrainCommand command = Script("sleep 600");
  command.silence = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Failure(command)));
}

TEST(TrainProcessesTest, ResultsComeByRank) {
  const auto results = RunTrainProcesses(
      Script(absl::StrCat("[ $1 = rank=1 ] && sleep 0.1;", Say(kResult)), 2));
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), 2);
}

TEST(TrainProcessesTest, OneThatDiesEndsTheOthersAndIsNamed) {
  const absl::Time start = absl::Now();
  const absl::Status status =
      Failure(Script("[ $1 = rank=1 ] && kill -KILL $$; sleep 600", 2));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 of 2"));
  // Long for any machine, short against the sleep.
  EXPECT_LT(absl::Now() - start, absl::Seconds(120));
}

// The survivor's error comes first, but the death is the cause.
TEST(TrainProcessesTest, ADeathOutranksWhatFollowsFromIt) {
  const std::string said = absl::StrCat(testing::TempDir(), "/said");
  const absl::Status status = Failure(
      Script(absl::StrCat("[ $1 = rank=1 ] && { while [ ! -e ", said,
                          " ]; do sleep 0.01; done; kill -KILL $$; };",
                          Say("{\"event\":\"error\",\"kind\":\"failed\","
                              "\"error\":\"peer is gone\"}"),
                          "touch ", said),
             2));
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 of 2"));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST(TrainProcessesTest, AMissingProgramIsADeath) {
  TrainCommand command;
  command.argv = {"/nowhere/worker_train"};
  EXPECT_TRUE(absl::IsAborted(Failure(command)));
}

}  // namespace
}  // namespace feedrate
