// The server over real sockets, pipes and processes.
#include "lib/adapters/worker/server.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/test_runner.h"
#include "lib/media/small_corpus.h"

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
      const PrepareCommand& spec, const Corpus& corpus) override {
    if (spec.transform() == "print") {
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
  EXPECT_EQ(runner_.hello().versions().at("counting"), "1");
  EXPECT_GT(runner_.hello().pid(), 0);
  EXPECT_GT(runner_.hello().import_s(), 0);
}

TEST_F(ServerTest, AChildAnswersAndLeavesWithItsCommands) {
  const auto child = Spawn();
  EXPECT_THAT(*child->Prepare("counting", "T", {}), HasSubstr("\"version\""));
  EXPECT_THAT(*child->Time(2000), HasSubstr("\"items\":2000"));
  child->HangUp();
  EXPECT_TRUE(absl::IsOutOfRange(child->Receive().status()));
  const auto info = runner_.Reap(child->pid());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_TRUE(WIFEXITED(info->status()));
  EXPECT_EQ(WEXITSTATUS(info->status()), 0);
  EXPECT_GT(info->max_rss(), 100000);
}

TEST_F(ServerTest, ChildrenHaveTheirOwnPipes) {
  const auto a = Spawn();
  const auto b = Spawn();
  EXPECT_NE(a->pid(), b->pid());
  // If the ends of a's pipes were open in b, a would not see the end.
  a->HangUp();
  EXPECT_TRUE(absl::IsOutOfRange(a->Receive().status()));
  EXPECT_THAT(*b->Prepare("counting", "T", {}), HasSubstr("\"version\""));
  EXPECT_EQ(runner_.Reap(a->pid())->status(), 0);
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
  EXPECT_EQ(WTERMSIG(info->status()), SIGKILL);
  EXPECT_THAT(*Spawn()->Prepare("counting", "T", {}), HasSubstr("version"));
  EXPECT_THAT(std::string(runner_.Reap(child->pid()).status().message()),
              HasSubstr("no child"));
}

TEST_F(ServerTest, ChildrenDieWhenTheRunnerHangsUp) {
  const auto child = Spawn();
  ASSERT_TRUE(child->Prepare("counting", "T", {}).ok());
  EXPECT_EQ(runner_.Stop(), 0);
  // The server has reaped it, so the process no longer exists.
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
  EXPECT_EQ(WEXITSTATUS(runner_.Reap(child->pid())->status()), 1);
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

class LineReaderTest : public ::testing::Test {
 protected:
  LineReaderTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
  }
  ~LineReaderTest() override {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  void Send(const std::string& text) {
    ASSERT_TRUE(WriteLine(ends_[1], text).ok());
  }
  void HangUp() {
    close(ends_[1]);
    ends_[1] = -1;
  }
  int ends_[2];
};

TEST_F(LineReaderTest, LinesComeOutHoweverTheyCameIn) {
  LineReader reader(ends_[0]);
  Send("one\ntwo\nthr");
  EXPECT_EQ(*reader.Next(), "one");
  EXPECT_EQ(*reader.Next(), "two");
  Send("ee\n\n");
  EXPECT_EQ(*reader.Next(), "three");
  EXPECT_EQ(*reader.Next(), "");
  HangUp();
  EXPECT_TRUE(absl::IsOutOfRange(reader.Next().status()));
}

TEST_F(LineReaderTest, AnEndInsideALineIsAMistake) {
  LineReader reader(ends_[0]);
  Send("half");
  HangUp();
  EXPECT_THAT(std::string(reader.Next().status().message()),
              HasSubstr("ends inside a line"));
}

TEST_F(LineReaderTest, ALineWithoutEndIsGarbage) {
  LineReader reader(ends_[0]);
  std::thread sender([this] {
    const std::string text(LineReader::kMaxLine + 8192, 'x');
    send(ends_[1], text.data(), text.size(), MSG_NOSIGNAL);
  });
  EXPECT_THAT(std::string(reader.Next().status().message()),
              HasSubstr("a line of more than"));
  shutdown(ends_[0], SHUT_RDWR);
  sender.join();
}

TEST_F(LineReaderTest, FileDescriptorsComeWithTheirLine) {
  LineReader reader(ends_[0]);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_TRUE(SendWithFds(ends_[1], "take\n", {pipe_ends[0], pipe_ends[1]}));
  EXPECT_EQ(*reader.Next(), "take");
  const std::vector<int> fds = reader.TakeFds();
  ASSERT_EQ(fds.size(), 2);
  EXPECT_TRUE(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
  ASSERT_TRUE(WriteLine(fds[1], "x").ok());
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  EXPECT_TRUE(reader.TakeFds().empty());
  for (int fd : {pipe_ends[0], pipe_ends[1], fds[0], fds[1]}) close(fd);
}

TEST(LineReaderPipeTest, ReadsPipesAsWell) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(WriteLine(ends[1], "line\n").ok());
  close(ends[1]);
  LineReader reader(ends[0]);
  EXPECT_EQ(*reader.Next(), "line");
  EXPECT_TRUE(absl::IsOutOfRange(reader.Next().status()));
  close(ends[0]);
}

TEST(WriteLineTest, SaysThatTheOtherEndIsGone) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_TRUE(absl::IsUnavailable(WriteLine(ends[1], "x\n")));
  close(ends[1]);
}

TEST(HeapTest, LargeBlocksComeFromTheHeap) {
  SettleHeap();
  const size_t before = mallinfo2().hblks;
  // An RGB image of 1000 x 1000: a block of its own before.
  void* volatile image = std::malloc(3000000);
  EXPECT_EQ(mallinfo2().hblks, before);
  std::free(image);
}

}  // namespace
}  // namespace feedrate
