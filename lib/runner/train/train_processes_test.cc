#include "lib/runner/train/train_processes.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "lib/base/clock_jump.h"
#include "lib/base/files.h"
#include "lib/base/stopwatch.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/train/multi_node.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kResult[] =
    "{\"event\":\"result\",\"version\":\"1\",\"wall_s\":0.5,"
    "\"steps_s\":[0.2,0.3],\"losses\":[2,1],\"grad_norms\":[1,1],"
    "\"phases\":{\"forward\":0.1},\"matmul_types\":{\"fp32\":4}}";

// A process that runs a shell script; $1 is its rank if there are several.
TrainCommand Script(const std::string& script, int world_size = 1) {
  TrainCommand command;
  command.argv = {"/bin/sh", "-c", script, "sh"};
  command.world_size = world_size;
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
  EXPECT_THAT((*results)[0].steps_s(), ElementsAre(0.2, 0.3));
  EXPECT_EQ((*results)[0].matmul_types().at("fp32"), 4);
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
  // A loss of null is never taken for 0.
  EXPECT_TRUE(absl::IsDataLoss(
      Failure(Script(Say("{\"event\":\"result\",\"wall_s\":1,\"steps_s\":[1,2],"
                         "\"losses\":[1,null]}")))));
}

TEST(TrainProcessesTest, SilenceEnds) {
  TrainCommand command = Script("sleep 600");
  command.silence = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Failure(command)));
}

// A clock that jumps ahead must not end a training, and one that jumps back
// must not extend it.
TEST(TrainProcessesTest, SilenceIsMeasuredByTheMonotonicClock) {
  TrainCommand command = Script(absl::StrCat("sleep 0.3;", Say(kResult)));
  command.silence = absl::Seconds(60);
  {
    const ClockJump ahead(absl::Hours(5), absl::Milliseconds(100));
    EXPECT_TRUE(RunTrainProcesses(command).ok());
  }
  command = Script("sleep 600");
  command.silence = absl::Milliseconds(300);
  const ClockJump back(-absl::Hours(5), absl::Milliseconds(100));
  const Stopwatch watch;
  EXPECT_TRUE(absl::IsDeadlineExceeded(Failure(command)));
  EXPECT_LT(watch.Elapsed(), absl::Seconds(60));
}

TEST(TrainProcessesTest, ResultsComeByRank) {
  const auto results = RunTrainProcesses(
      Script(absl::StrCat("[ $1 = rank=1 ] && sleep 0.1;", Say(kResult)), 2));
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), 2);
}

TEST(TrainProcessesTest, RanksMeetWhereNobodyElseCanLook) {
  // The fourth word is store=FOLDER/store.
  const std::string folder = "folder=$(dirname ${4#store=});";
  const auto results = RunTrainProcesses(
      Script(absl::StrCat(folder, "[ $(stat -c %a $folder) = 700 ] || exit 1;",
                          Say(kResult)),
             2));
  EXPECT_TRUE(results.ok()) << results.status();
  const absl::Status shown =
      Failure(Script(absl::StrCat(folder, "echo in $folder >&2; exit 1"), 2));
  const std::vector<std::string> words =
      absl::StrSplit(shown.message(), absl::ByAnyChar(" :\n"));
  const auto in = std::find(words.begin(), words.end(), "in");
  ASSERT_LT(in + 1, words.end()) << shown;
  EXPECT_THAT(in[1], HasSubstr("/feedrate_train_"));
  EXPECT_FALSE(IsFolder(in[1])) << "it stays behind";
}

TEST(TrainProcessesTest, OneThatDiesEndsTheOthersAndIsNamed) {
  const Stopwatch watch;
  const absl::Status status =
      Failure(Script("[ $1 = rank=1 ] && kill -KILL $$; sleep 600", 2));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 of 2"));
  // As docs/train.md promises; the code waits for 2 s.
  EXPECT_LT(watch.Elapsed(), absl::Seconds(10));
}

TEST(TrainProcessesTest, WhatDivergedIsNoCrash) {
  for (const int processes : {1, 2}) {
    const absl::Status status = Failure(Script(
        Say("{\"event\":\"error\",\"kind\":\"diverged\",\"error\":\"step 3\"}"),
        processes));
    EXPECT_EQ(StatusOfFailure(status), "diverged") << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("step 3"));
  }
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

// A port that nobody listens on.
int FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

// Only a hang takes this long.
constexpr absl::Duration kLong = absl::Seconds(120);

void WriteFor(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
}

class RankLinkTest : public testing::Test {
 protected:
  RankLinkTest() {
    step_.world_size = 3;
    step_.leader = "127.0.0.1";
    step_.port = FreePort();
    step_.token = "7.0";
    step_.secret_file = absl::StrCat(testing::TempDir(), "/secret", getpid());
  }

  SlurmStep step_;
};

TEST_F(RankLinkTest, OrdersReachAllAndTheEndIsSeen) {
  std::vector<std::vector<std::string>> heard(2);
  std::vector<std::thread> followers;
  followers.reserve(heard.size());
  for (std::vector<std::string>& words : heard) {
    followers.emplace_back([this, &words] {
      auto follower = RankFollower::Join(step_, kLong);
      ASSERT_TRUE(follower.ok()) << follower.status();
      for (;;) {
        const auto order = (*follower)->Next(-1);
        ASSERT_TRUE(order.ok()) << order.status();
        if (!order->has_value()) break;
        words.push_back((*order)->library);
        words.insert(words.end(), (*order)->words.begin(),
                     (*order)->words.end());
      }
    });
  }
  {
    auto leader = RankLeader::Gather(step_, kLong);
    ASSERT_TRUE(leader.ok()) << leader.status();
    ASSERT_TRUE((*leader)->Order({"feedrate", {"model=a b", "seed=1"}}).ok());
    ASSERT_TRUE((*leader)->Order({"torch_eager", {}}).ok());
    EXPECT_FALSE((*leader)->Order({"feedrate", {"a\nb"}}).ok());
  }
  for (std::thread& thread : followers) thread.join();
  for (const std::vector<std::string>& words : heard) {
    EXPECT_THAT(words,
                ElementsAre("feedrate", "model=a b", "seed=1", "torch_eager"));
  }
}

// Who knows job and step, and the whole protocol, but not the secret.
TEST_F(RankLinkTest, StrangersAreNotCounted) {
  step_.world_size = 2;
  SlurmStep other = step_;
  other.secret_file += ".other";
  WriteFor(other.secret_file, std::string(64, 'a'), 0600);
  std::thread ranks([this, &other] {
    // Connects first. If it counted, the second would have no leader.
    EXPECT_FALSE(RankFollower::Join(other, absl::Milliseconds(500)).ok());
    auto follower = RankFollower::Join(step_, kLong);
    ASSERT_TRUE(follower.ok()) << follower.status();
    const auto order = (*follower)->Next(-1);
    ASSERT_TRUE(order.ok()) << order.status();
    ASSERT_TRUE(order->has_value());
    EXPECT_EQ((*order)->library, "feedrate");
  });
  {
    const auto leader = RankLeader::Gather(step_, kLong);
    ASSERT_TRUE(leader.ok()) << leader.status();
    EXPECT_TRUE((*leader)->Order({"feedrate", {}}).ok());
  }
  ranks.join();
}

// Each would be waited for, one after the other.
TEST_F(RankLinkTest, SilentStrangersDoNotMakeItWaitForLonger) {
  std::vector<UniqueFd> strangers(3);
  std::thread visits([this, &strangers] {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(step_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (UniqueFd& stranger : strangers) {
      const Stopwatch watch;
      while (watch.Elapsed() < absl::Seconds(1)) {
        stranger.Reset(socket(AF_INET, SOCK_STREAM, 0));
        if (connect(stranger.get(), reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)) == 0) {
          break;
        }
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
  });
  const auto leader = RankLeader::Gather(step_, absl::Milliseconds(500));
  EXPECT_TRUE(absl::IsDeadlineExceeded(leader.status())) << leader.status();
  visits.join();
  int greeted = 0;
  for (const UniqueFd& stranger : strangers) {
    char letter = 0;
    greeted += recv(stranger.get(), &letter, 1, MSG_DONTWAIT) == 1 ? 1 : 0;
  }
  EXPECT_LE(greeted, 1);
}

TEST_F(RankLinkTest, TheSecretIsForThisUserAndTheStartAlone) {
  step_.world_size = 2;
  // Somebody else's link where the secret will be.
  const std::string victim = step_.secret_file + ".victim";
  WriteFor(victim, "mine", 0644);
  ASSERT_EQ(symlink(victim.c_str(), step_.secret_file.c_str()), 0);
  EXPECT_THAT(std::string(RankLeader::Gather(step_, kLong).status().message()),
              HasSubstr("FEEDRATE_SECRET_FOLDER"));
  EXPECT_EQ(*ReadFile(victim), "mine");
  unlink(step_.secret_file.c_str());
  std::thread rank([this] {
    struct stat info = {};
    const Stopwatch watch;
    while (stat(step_.secret_file.c_str(), &info) != 0 &&
           watch.Elapsed() < kLong) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(info.st_mode & 0777, 0600);
    EXPECT_TRUE(RankFollower::Join(step_, kLong).ok());
  });
  EXPECT_TRUE(RankLeader::Gather(step_, kLong).ok());
  rank.join();
  EXPECT_FALSE(IsFile(step_.secret_file)) << "it stays behind";
}

// The first to bind the port tells the followers nothing.
TEST_F(RankLinkTest, AnImpostorIsNotObeyed) {
  WriteFor(step_.secret_file, std::string(64, 'b'), 0600);
  SlurmStep impostor = step_;
  impostor.secret_file += ".impostor";
  impostor.world_size = 2;
  std::thread leader([&impostor] {
    EXPECT_FALSE(RankLeader::Gather(impostor, absl::Milliseconds(800)).ok());
  });
  const auto joined = RankFollower::Join(step_, absl::Milliseconds(400));
  EXPECT_THAT(std::string(joined.status().message()), HasSubstr("secret"));
  leader.join();
  // Nor does a secret count that others can read.
  WriteFor(step_.secret_file, std::string(64, 'b'), 0644);
  impostor.port = step_.port = FreePort();
  std::thread again([&impostor] {
    EXPECT_FALSE(RankLeader::Gather(impostor, absl::Milliseconds(400)).ok());
  });
  EXPECT_THAT(std::string(RankFollower::Join(step_, absl::Milliseconds(300))
                              .status()
                              .message()),
              HasSubstr("mode 0600"));
  again.join();
}

TEST_F(RankLinkTest, SaysHowManyAreMissing) {
  const auto leader = RankLeader::Gather(step_, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(leader.status()));
  EXPECT_THAT(std::string(leader.status().message()),
              HasSubstr("0 of 2 other ranks"));
}

TEST_F(RankLinkTest, NoLeaderIsNamed) {
  const auto follower = RankFollower::Join(step_, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(follower.status()));
  EXPECT_THAT(std::string(follower.status().message()),
              HasSubstr("MASTER_ADDR"));
}

TEST_F(RankLinkTest, ATakenPortIsNamed) {
  const UniqueFd holder(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(step_.port);
  if (bind(holder.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0 ||
      listen(holder.get(), 1) != 0) {
    GTEST_SKIP() << "no IPv6 here to hold a port with";
  }
  const auto leader = RankLeader::Gather(step_, kLong);
  EXPECT_TRUE(absl::IsUnavailable(leader.status())) << leader.status();
  EXPECT_THAT(std::string(leader.status().message()), HasSubstr("MASTER_PORT"));
}

using Variables = std::map<std::string, std::string>;

const Variables kStep = {{"SLURM_JOB_ID", "77"},
                         {"SLURM_STEP_ID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_PROCID", "5"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                         {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"}};

absl::StatusOr<absl::optional<SlurmStep>> StepOf(const Variables& variables,
                                                 bool resolves = true) {
  return SlurmStepOf(
      [&variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      [resolves](const std::string&) { return resolves; });
}

Variables With(Variables variables, const std::string& name,
               const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(SlurmStepTest, NothingOutsideOfSrun) {
  EXPECT_FALSE(StepOf({})->has_value());
  // As in a batch script.
  EXPECT_FALSE(
      StepOf({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}})->has_value());
  EXPECT_FALSE(StepOf(With(kStep, "SLURM_STEP_NUM_TASKS", "1"))->has_value());
}

TEST(SlurmStepTest, ReadsThePlaceFromSlurmsVariables) {
  const auto step = StepOf(kStep);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ((*step)->rank, 5);
  EXPECT_EQ((*step)->world_size, 8);
  EXPECT_EQ((*step)->local_rank, 1);
  EXPECT_EQ((*step)->leader, "gpu07");
  EXPECT_EQ((*step)->token, "77.3");
  EXPECT_EQ((*step)->secret_file, "./.feedrate_train_77.3");
  EXPECT_EQ((*StepOf(With(kStep, "FEEDRATE_SECRET_FOLDER", "/f")))->secret_file,
            "/f/.feedrate_train_77.3");
  EXPECT_FALSE(StepOf(With(kStep, "SLURM_JOB_ID", "../7")).ok());
  EXPECT_GE((*step)->port, 10000);
  EXPECT_LT((*step)->port, 32768);
}

TEST(SlurmStepTest, StepsOfOneJobHavePortsOfTheirOwn) {
  EXPECT_NE((*StepOf(kStep))->port,
            (*StepOf(With(kStep, "SLURM_STEP_ID", "4")))->port);
}

TEST(SlurmStepTest, LeaderWithoutAnAddressIsTheNodeOfSrun) {
  EXPECT_EQ((*StepOf(kStep, false))->leader, "10.0.0.9");
  Variables none = kStep;
  none.erase("SLURM_LAUNCH_NODE_IPADDR");
  EXPECT_THAT(std::string(StepOf(none, false).status().message()),
              HasSubstr("MASTER_ADDR"));
}

TEST(SlurmStepTest, MasterAddressAndPortDecide) {
  const auto step =
      StepOf(With(With(kStep, "MASTER_ADDR", "h"), "MASTER_PORT", "29500"));
  EXPECT_EQ((*step)->leader, "h");
  EXPECT_EQ((*step)->port, 29500);
}

TEST(SlurmStepTest, NonsenseIsNamed) {
  for (const char* name :
       {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"}) {
    for (const char* value : {"", "x", "-1", "99999999"}) {
      const auto step = StepOf(With(kStep, name, value));
      EXPECT_TRUE(absl::IsInvalidArgument(step.status())) << name << value;
      EXPECT_THAT(std::string(step.status().message()), HasSubstr(name));
    }
  }
  EXPECT_FALSE(StepOf(With(kStep, "MASTER_PORT", "70000")).ok());
}

TEST(FirstHostTest, ReadsHostLists) {
  EXPECT_EQ(FirstHost("n1"), "n1");
  EXPECT_EQ(FirstHost("n1,n2"), "n1");
  EXPECT_EQ(FirstHost("gpu[07-12,20],cpu1"), "gpu07");
  EXPECT_EQ(FirstHost("gpu[7,9]"), "gpu7");
  EXPECT_EQ(FirstHost("gpu[5]"), "gpu5");
  EXPECT_EQ(FirstHost("rack[1-2]-gpu,x"), "rack1-gpu");
  EXPECT_EQ(FirstHost("rack[1-2]-gpu"), "rack1-gpu");
  EXPECT_EQ(FirstHost("gpu[7"), "");
  EXPECT_EQ(FirstHost("gpu[7-"), "");
  EXPECT_EQ(FirstHost(""), "");
}

}  // namespace
}  // namespace feedrate
