// Each fault as a runner sees it: through pipes, from a child process.
#include "lib/adapters/faulty/faulty_adapter.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/media/small_corpus.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kTime[] =
    R"({"op":"time","first":0,"count":20,"chunk":1,"limit_s":0,"seed":1})";
constexpr char kOutputs[] = R"({"op":"output","indexes":[0,1],"seed":1})";

class FaultyTest : public ::testing::Test {
 protected:
  FaultyTest()
      : corpus_(SmallCorpus(3)), runner_(std::make_unique<FaultyAdapter>()) {}

  // A child with this fault prepared.
  std::unique_ptr<TestChild> Start(
      const std::string& fault, const std::vector<std::string>& params = {}) {
    auto child = runner_.Spawn("faulty", corpus_);
    const auto reply = child->Prepare("faulty", fault, params);
    EXPECT_TRUE(reply.ok() && ParseReply<PrepareReply>(*reply).ok())
        << fault << ": " << reply.value_or("dead");
    return child;
  }

  // The wait status of a child that must die of `line`.
  int DiesOf(const std::string& fault, const std::vector<std::string>& params,
             const char* line = kTime) {
    const auto child = Start(fault, params);
    EXPECT_FALSE(child->Ask(line).ok()) << fault;
    return runner_.Reap(child->pid())->status();
  }

  // Whether the child is silent for a while and still exists.
  bool Hangs(TestChild* child) {
    usleep(50000);
    return kill(child->pid(), 0) == 0 && State(child->pid()) != 'Z';
  }
  static char State(pid_t pid) {
    std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
    std::string number, name;
    char state = '?';
    stat >> number >> name >> state;
    return state;
  }
  void KillAndReap(TestChild* child) {
    kill(child->pid(), SIGKILL);
    EXPECT_EQ(WTERMSIG(runner_.Reap(child->pid())->status()), SIGKILL);
  }

  Corpus corpus_;
  TestRunner runner_;
};

TEST_F(FaultyTest, OkIsOk) {
  const auto child = Start("ok");
  EXPECT_EQ(ParseTimeReply(*child->Ask(kTime))->items(), 20);
  EXPECT_THAT(ParseReply<OutputReply>(*child->Ask(kOutputs))->outputs(),
              SizeIs(2));
}

TEST_F(FaultyTest, DeathsOfEveryKind) {
  EXPECT_EQ(WTERMSIG(DiesOf("segfault", {})), SIGSEGV);
  EXPECT_EQ(WTERMSIG(DiesOf("abort", {"at=7"})), SIGABRT);
  EXPECT_EQ(WTERMSIG(DiesOf("die_silently", {"when=output"}, kOutputs)),
            SIGKILL);
  EXPECT_EQ(WEXITSTATUS(DiesOf("exit", {"code=3"})), 3);
  const int clean = DiesOf("exit", {"at=uniform(0,19)"});
  EXPECT_TRUE(WIFEXITED(clean));
  EXPECT_EQ(WEXITSTATUS(clean), 0);
  EXPECT_EQ(WTERMSIG(DiesOf("half_line", {})), SIGKILL);
}

TEST_F(FaultyTest, DeathInPrepare) {
  const auto child = runner_.Spawn("faulty", corpus_);
  EXPECT_FALSE(child->Prepare("faulty", "segfault", {"when=prepare"}).ok());
  EXPECT_EQ(WTERMSIG(runner_.Reap(child->pid())->status()), SIGSEGV);
}

TEST_F(FaultyTest, TheCallDecides) {
  const auto child = Start("exit", {"at=25"});
  EXPECT_TRUE(child->Ask(kTime).ok());
  EXPECT_FALSE(child->Ask(kTime).ok());
}

TEST_F(FaultyTest, ExceptionsAreAnswers) {
  EXPECT_THAT(*Start("exception")->Ask(kTime),
              HasSubstr("std::runtime_error: faulty: thrown on purpose"));
  EXPECT_THAT(*Start("out_of_memory")->Ask(kTime), HasSubstr("std::bad_alloc"));
  EXPECT_THAT(*Start("cuda_memory")->Ask(kTime),
              HasSubstr("CUDA: cudaMalloc: out of memory"));
  const std::string torch = *Start("torch_memory")->Ask(kTime);
  EXPECT_THAT(torch, HasSubstr("OutOfMemoryError: CUDA out of memory. Tried"));
  EXPECT_THAT(torch, Not(HasSubstr("Exception raised from")));
}

TEST_F(FaultyTest, ThingsThatNeverEnd) {
  for (const char* fault : {"hang", "spin", "wrong_reply", "close_pipe"}) {
    const auto child = Start(fault);
    child->Send(kTime);
    EXPECT_TRUE(Hangs(child.get())) << fault;
    KillAndReap(child.get());
  }
  const auto stopped = Start("stop");
  stopped->Send(kTime);
  // A minute, for a child that never stops.
  for (int i = 0; i < 6000 && State(stopped->pid()) != 'T'; ++i) usleep(10000);
  EXPECT_EQ(State(stopped->pid()), 'T');
  KillAndReap(stopped.get());
}

TEST_F(FaultyTest, ThePipeSaysStrangeThings) {
  EXPECT_THAT(*Start("garbage")->Ask(kTime), HasSubstr("not JSON"));
  const auto extra = Start("extra_reply");
  EXPECT_THAT(*extra->Ask(kTime), HasSubstr("\"items\":1}"));
  EXPECT_THAT(*extra->Receive(), HasSubstr("\"items\":20"));
  EXPECT_THAT(*Start("wrong_reply")->Ask(kTime), HasSubstr("outputs"));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Start("endless_line")->Ask(kTime).status()));
  EXPECT_TRUE(absl::IsOutOfRange(Start("close_pipe")->Ask(kTime).status()));
}

TEST_F(FaultyTest, FloodsItsErrorsAndDies) {
  const auto child = Start("flood_stderr", {"bytes=300000"});
  child->Send(kTime);
  const std::string errors = child->Errors();
  EXPECT_GT(errors.size(), 300000);
  EXPECT_THAT(errors.substr(errors.size() - 100), HasSubstr("last words"));
  EXPECT_EQ(WTERMSIG(runner_.Reap(child->pid())->status()), SIGABRT);
}

TEST_F(FaultyTest, AllocatesForReal) {
  const auto child = Start("allocate", {"bytes=100000000"});
  EXPECT_TRUE(child->Ask(kTime).ok());
  child->HangUp();
  EXPECT_GT(runner_.Reap(child->pid())->max_rss(), 100000000);
}

TEST_F(FaultyTest, SlowAndBusyTakeTheirTime) {
  const auto slow = ParseTimeReply(*Start("slow", {"seconds=0.02"})->Time(2));
  ASSERT_THAT(slow->samples_s(), SizeIs(2));
  EXPECT_GE(slow->samples_s(1), 0.02);
  const auto busy =
      ParseTimeReply(*Start("busy", {"seconds=0.02", "threads=3"})->Time(2));
  ASSERT_THAT(busy->samples_s(), SizeIs(2));
  EXPECT_GE(busy->samples_s(0), 0.02);
}

TEST_F(FaultyTest, OutputsThatAreNotWhatTheySay) {
  const auto bad =
      ParseReply<OutputReply>(*Start("bad_output")->Ask(kOutputs))->outputs();
  EXPECT_EQ(bad[0].shape(0), 61);
  EXPECT_EQ(bad[0].bytes(), 60 * 80 * 3);
}

TEST_F(FaultyTest, KillsItsServer) {
  const auto child = Start("kill_server");
  // The server's death also ends the child.
  EXPECT_TRUE(absl::IsOutOfRange(child->Ask(kTime).status()));
  EXPECT_EQ(WTERMSIG(runner_.Stop()), SIGKILL);
}

TEST_F(FaultyTest, WhatItDoesNotKnowIsAnError) {
  const auto child = runner_.Spawn("faulty", corpus_);
  EXPECT_THAT(*child->Prepare("faulty", "dance", {}),
              HasSubstr("no fault \\\"dance\\\"; there are ok, noop"));
  EXPECT_THAT(*child->Prepare("faulty", "abort", {"code=3"}),
              HasSubstr("code=3 is not known"));
  EXPECT_THAT(*child->Prepare("faulty", "abort", {"when=never"}),
              HasSubstr("must be one of prepare, call, output"));
}

}  // namespace
}  // namespace feedrate
