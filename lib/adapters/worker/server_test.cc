// The server over real sockets, pipes and processes.
#include "lib/adapters/worker/server.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/adapters/worker/testing/socket.h"
#include "lib/adapters/worker/testing/test_runner.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class CountingTransform : public PreparedTransform {
 public:
  void Seed(uint64_t) override {}
  void Run(int64_t) override { ++calls_; }
  absl::StatusOr<Output> RunForOutput(int64_t) override {
    return absl::UnimplementedError("no output");
  }

 private:
  int64_t calls_ = 0;
};

class CountingAdapter : public Adapter {
 public:
  std::string library() const override { return "counting"; }
  std::string version() const override { return "1"; }
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) override {
    if (spec.transform == "print") {
      WriteLine(STDOUT_FILENO, "on stdout\n").IgnoreError();
      WriteLine(STDERR_FILENO, "on stderr\n").IgnoreError();
    }
    return std::make_unique<CountingTransform>();
  }
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest()
      : corpus_(SmallCorpus(3)), runner_(std::make_unique<CountingAdapter>()) {}
  std::unique_ptr<TestChild> Spawn() {
    return runner_.Spawn("counting", corpus_);
  }
  Corpus corpus_;
  TestRunner runner_;
};

TEST_F(ServerTest, SaysHello) {
  EXPECT_EQ(runner_.hello().versions.at("counting"), "1");
  EXPECT_GT(runner_.hello().pid, 0);
  EXPECT_GT(runner_.hello().import_s, 0);
}

TEST_F(ServerTest, AChildAnswersAndLeavesWithItsCommands) {
  const auto child = Spawn();
  EXPECT_THAT(*child->Prepare("counting", "T", {}), HasSubstr("\"version\""));
  EXPECT_THAT(*child->Time(2000), HasSubstr("\"items\":2000"));
  child->HangUp();
  EXPECT_TRUE(absl::IsOutOfRange(child->Receive().status()));
  const auto info = runner_.Reap(child->pid());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(WIFEXITED(info->status));
  EXPECT_EQ(WEXITSTATUS(info->status), 0);
  EXPECT_GT(info->max_rss, 100000);
}

TEST_F(ServerTest, ChildrenHaveTheirOwnPipes) {
  const auto a = Spawn();
  const auto b = Spawn();
  EXPECT_NE(a->pid(), b->pid());
  // Were the ends of a's pipes open in b, a would not see the end.
  a->HangUp();
  EXPECT_TRUE(absl::IsOutOfRange(a->Receive().status()));
  EXPECT_THAT(*b->Prepare("counting", "T", {}), HasSubstr("\"version\""));
  EXPECT_EQ(runner_.Reap(a->pid())->status, 0);
}

TEST_F(ServerTest, WhatAChildPrintsIsKept) {
  const auto child = Spawn();
  ASSERT_TRUE(child->Prepare("counting", "print", {}).ok());
  child->HangUp();
  EXPECT_EQ(child->Errors(), "on stdout\non stderr\n");
}

TEST_F(ServerTest, AKilledChildIsReapedAndTheNextOneRuns) {
  const auto child = Spawn();
  kill(child->pid(), SIGKILL);
  const auto info = runner_.Reap(child->pid());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(WTERMSIG(info->status), SIGKILL);
  EXPECT_THAT(*Spawn()->Prepare("counting", "T", {}), HasSubstr("version"));
  EXPECT_THAT(std::string(runner_.Reap(child->pid()).status().message()),
              HasSubstr("no child"));
}

TEST_F(ServerTest, ChildrenDieWhenTheRunnerHangsUp) {
  const auto child = Spawn();
  ASSERT_TRUE(child->Prepare("counting", "T", {}).ok());
  EXPECT_EQ(runner_.Stop(), 0);
  // Reaped by the server, so there is no such process any more.
  EXPECT_EQ(kill(child->pid(), 0), -1);
}

TEST_F(ServerTest, AHangUpEndsAWaitAsWell) {
  const auto child = Spawn();
  WriteLine(runner_.control(),
            "{\"op\":\"reap\",\"pid\":" + std::to_string(child->pid()) + "}\n")
      .IgnoreError();
  EXPECT_EQ(runner_.Stop(), 0);
  EXPECT_EQ(kill(child->pid(), 0), -1);
}

TEST_F(ServerTest, GarbageOnTheCommandsEndsTheChildWithAMessage) {
  const auto child = Spawn();
  EXPECT_THAT(*child->Ask("\x01\x02 garbage"), HasSubstr("got no command"));
  EXPECT_THAT(child->Errors(), HasSubstr("got no command"));
  EXPECT_EQ(WEXITSTATUS(runner_.Reap(child->pid())->status), 1);
}

TEST_F(ServerTest, ARequestThatCannotBeMetIsAnAnswer) {
  EXPECT_THAT(*runner_.Ask(R"({"op":"spawn","library":"counting"})"),
              HasSubstr("needs 4 file descriptors, not 0"));
  ASSERT_TRUE(SendWithFds(runner_.control(),
                          "{\"op\":\"spawn\",\"library\":\"other\"}", {0, 0}));
  EXPECT_THAT(*runner_.Ask(""), HasSubstr("is for counting, not for other"));
  EXPECT_THAT(*runner_.Ask(R"({"op":"reap","pid":1})"),
              HasSubstr("no child 1 to reap"));
}

TEST_F(ServerTest, GarbageOnTheControlSocketEndsTheServer) {
  const auto child = Spawn();
  EXPECT_TRUE(absl::IsOutOfRange(runner_.Ask("garbage").status()));
  EXPECT_EQ(WEXITSTATUS(runner_.Stop()), 1);
  EXPECT_EQ(kill(child->pid(), 0), -1);
}

}  // namespace
}  // namespace feedrate
