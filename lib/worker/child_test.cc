#include "lib/worker/child.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/clock_jump.h"
#include "lib/base/stopwatch.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A limit that no test reaches, except those that test it.
constexpr absl::Duration kLong = absl::Seconds(60);

ServerOptions FakeServer(const std::vector<std::string>& flags = {}) {
  ServerOptions options;
  options.name = "fake";
  options.argv = {"/usr/bin/python3", "lib/worker/testing/fake_server.py"};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  return options;
}

class ChildTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    interrupt_.Reset(eventfd(0, EFD_CLOEXEC));
    ServerOptions options = FakeServer();
    options.interrupt_fd = interrupt_.get();
    absl::StatusOr<std::unique_ptr<LibraryServer>> server =
        LibraryServer::Start(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->WaitReady(kLong).ok());
  }

  std::unique_ptr<MeasuredChild> Spawn(const std::string& transform,
                                       int64_t memory_limit_bytes = 0) {
    const UniqueFd no_corpus(eventfd(0, EFD_CLOEXEC));
    absl::StatusOr<std::unique_ptr<MeasuredChild>> child = MeasuredChild::Spawn(
        server_.get(), "fake", no_corpus.get(), memory_limit_bytes);
    EXPECT_TRUE(child.ok()) << child.status();
    PrepareCommand command;
    command.set_transform(transform);
    EXPECT_TRUE((*child)->Prepare(command, kLong).ok());
    return *std::move(child);
  }

  // Returns the status of timing ten items of `transform`.
  absl::Status Time(MeasuredChild* child, absl::Duration limit = kLong) {
    TimeCommand command;
    command.set_count(10);
    command.set_chunk(1);
    return child->Time(command, limit).status();
  }

  UniqueFd interrupt_;
  std::unique_ptr<LibraryServer> server_;
};

TEST_F(ChildTest, TimesItems) {
  const std::unique_ptr<MeasuredChild> child = Spawn("ok");
  TimeCommand command;
  command.set_count(10);
  command.set_chunk(4);
  const absl::StatusOr<TimeReply> reply = child->Time(command, kLong);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->samples_s(), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_TRUE(child->alive());
}

TEST_F(ChildTest, AnswersCallsThatAreTimedFromOutside) {
  AttachCommand files;
  files.set_input_bytes(100);
  files.set_output_bytes(200);
  CallCommand call;
  call.set_nonce(7);
  const std::unique_ptr<MeasuredChild> child = Spawn("ok");
  const absl::StatusOr<SharedFiles> shared = child->Attach(files, kLong);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_NE(ftruncate(shared->output.get(), 10), 0);
  const absl::StatusOr<OutputItem> output = child->Call(call, 200, kLong);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->bytes(), 12);

  for (const char* transform : {"short", "plain_file"}) {
    EXPECT_THAT(Spawn(transform)->Attach(files, kLong).status().message(),
                HasSubstr("gave no memory file of"));
  }
  EXPECT_THAT(Spawn("ahead")->Call(call, 200, kLong).status().message(),
              HasSubstr("answered before it was asked"));
  EXPECT_THAT(Spawn("large")->Call(call, 200, kLong).status().message(),
              HasSubstr("an output that cannot be: 3000 bytes"));
}

TEST_F(ChildTest, CopiesOutputs) {
  const std::unique_ptr<MeasuredChild> child = Spawn("ok");
  OutputCommand command;
  command.add_indexes(0);
  const auto outputs = child->Outputs(command, kLong);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1);
  EXPECT_EQ((*outputs)[0].bytes.size(), 12);
  EXPECT_EQ((*outputs)[0].bytes[11], 11);
  for (const int64_t index : {0, 1}) {
    command.add_indexes(index);
  }
  EXPECT_EQ(child->Outputs(command, kLong).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(ChildTest, OpensOnlyMemoryFiles) {
  OutputCommand command;
  command.add_indexes(0);
  EXPECT_EQ(Spawn("pipe")->Outputs(command, kLong).status().code(),
            absl::StatusCode::kDataLoss);
}

// Each of them costs the same, however many wait.
TEST_F(ChildTest, ManyLinesOfStandardErrorDoNotStopIt) {
  EXPECT_THAT(std::string(Time(Spawn("newlines").get()).message()),
              AllOf(HasSubstr("exited with code 3"), HasSubstr("done")));
}

TEST_F(ChildTest, ARefusalLeavesTheChildAlive) {
  const std::unique_ptr<MeasuredChild> child = Spawn("ok");
  PrepareCommand command;
  command.set_transform("refuse");
  const absl::Status status = child->Prepare(command, kLong).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "TypeError: no such transform");
  EXPECT_TRUE(Time(child.get()).ok());
}

TEST_F(ChildTest, ASegmentationFaultIsNamedWithTheLastWords) {
  const std::unique_ptr<MeasuredChild> child = Spawn("segfault");
  const absl::Status status = Time(child.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("killed by SIGSEGV"),
                    HasSubstr("last words: about to fail")));
  EXPECT_FALSE(child->alive());
  EXPECT_EQ(Time(child.get()), status);
}

TEST_F(ChildTest, AnExitIsNamed) {
  const absl::Status status = Time(Spawn("exit").get());
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("exited with code 3"));
}

TEST_F(ChildTest, AHangEndsAtTheLimit) {
  const absl::Status status = Time(Spawn("hang").get(), absl::Milliseconds(50));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("gave no answer within 50ms"));
}

// A clock that jumps ahead must not end a child, and one that jumps back must
// not extend its time.
TEST_F(ChildTest, TheLimitIsMeasuredByTheMonotonicClock) {
  {
    const ClockJump ahead(absl::Hours(5), absl::Milliseconds(100));
    EXPECT_TRUE(Time(Spawn("slow").get()).ok());
  }
  const std::unique_ptr<MeasuredChild> child = Spawn("hang");
  const ClockJump back(-absl::Hours(5), absl::Milliseconds(100));
  const Stopwatch watch;
  EXPECT_EQ(Time(child.get(), absl::Milliseconds(300)).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(watch.Elapsed(), kLong);
}

TEST_F(ChildTest, GarbageAndFloodsAreDataLoss) {
  EXPECT_EQ(Time(Spawn("garbage").get()).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Time(Spawn("flood").get()).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Time(Spawn("probes").get()).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ChildTest, AClosedPipeIsDataLoss) {
  const absl::Status status = Time(Spawn("close").get());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed its pipe"));
}

TEST_F(ChildTest, MemoryBeyondTheLimitIsSeen) {
  const std::unique_ptr<MeasuredChild> child = Spawn("allocate", 64 << 20);
  const absl::Status status = Time(child.get());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(64 MB above"));
}

// A helper that the dead process started holds its pipe open, so there is no
// end of file; the death must be detected anyway.
TEST_F(ChildTest, ADeathIsSeenThoughAnotherHoldsThePipe) {
  const absl::Status status = Time(Spawn("orphan").get());
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("killed by SIGKILL"));
}

TEST_F(ChildTest, ProcessesThatCodeLeavesEndWithTheServer) {
  Time(Spawn("orphan").get()).IgnoreError();
  const pid_t group = server_->pid();
  ASSERT_EQ(kill(-group, 0), 0);
  server_.reset();
  // Until somebody has waited for them.
  for (int i = 0; i < 1000 && kill(-group, 0) == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(kill(-group, 0), -1);
}

TEST_F(ChildTest, TheNextChildRunsAfterADeath) {
  Time(Spawn("segfault").get()).IgnoreError();
  EXPECT_TRUE(Time(Spawn("ok").get()).ok());
}

TEST_F(ChildTest, AnInterruptEndsTheWait) {
  const std::unique_ptr<MeasuredChild> child = Spawn("hang");
  const uint64_t one = 1;
  ASSERT_EQ(write(interrupt_.get(), &one, sizeof(one)), sizeof(one));
  EXPECT_EQ(Time(child.get()).code(), absl::StatusCode::kCancelled);
}

TEST_F(ChildTest, AServerThatIsKilledIsNamed) {
  kill(server_->pid(), SIGKILL);
  const UniqueFd no_corpus(eventfd(0, EFD_CLOEXEC));
  const absl::Status status =
      MeasuredChild::Spawn(server_.get(), "fake", no_corpus.get(), 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("fake: its server"));
}

TEST(ServerTest, SaysWhyTheLibraryDoesNotLoad) {
  auto server = LibraryServer::Start(FakeServer({"--fail-to-load"}));
  ASSERT_TRUE(server.ok());
  EXPECT_EQ((*server)->WaitReady(kLong).status().message(),
            "ModuleNotFoundError: No module named 'fake'");
}

TEST(ServerTest, QuotesTheLastWordsOfOneThatDies) {
  auto server = LibraryServer::Start(FakeServer({"--die"}));
  ASSERT_TRUE(server.ok());
  EXPECT_THAT(std::string((*server)->WaitReady(kLong).status().message()),
              AllOf(HasSubstr("exited with code 1"),
                    HasSubstr("cannot open shared object file")));
}

// A server has the code of a subject in it, and what it names would be killed.
TEST(ServerTest, AProcessThatIsNotItsChildIsNotTouched) {
  auto server = LibraryServer::Start(FakeServer({"--name-another"}));
  ASSERT_TRUE(server.ok());
  ASSERT_TRUE((*server)->WaitReady(kLong).ok());
  const UniqueFd no_corpus(eventfd(0, EFD_CLOEXEC));
  EXPECT_THAT(std::string(MeasuredChild::Spawn(server->get(), "fake",
                                               no_corpus.get(), 0)
                              .status()
                              .message()),
              HasSubstr("which it has not started"));
}

TEST(ServerTest, AnAnswerWithoutAnEndIsCutOff) {
  auto server = LibraryServer::Start(FakeServer({"--flood"}));
  ASSERT_TRUE(server.ok());
  EXPECT_THAT(std::string((*server)->WaitReady(kLong).status().message()),
              HasSubstr("bytes without an end of line"));
}

TEST(ServerTest, SaysThatAProgramIsMissing) {
  ServerOptions options;
  options.name = "fake";
  options.argv = {"/nowhere/worker_fake"};
  auto server = LibraryServer::Start(options);
  ASSERT_TRUE(server.ok());
  EXPECT_THAT(std::string((*server)->WaitReady(kLong).status().message()),
              HasSubstr("/nowhere/worker_fake: No such file or directory"));
}

TEST(ServerTest, PassesTheEnvironmentOn) {
  ServerOptions options = FakeServer();
  options.environment = {{"FAKE_VERSION", "9"}};
  auto server = LibraryServer::Start(options);
  ASSERT_TRUE(server.ok());
  const absl::StatusOr<Hello> hello = (*server)->WaitReady(kLong);
  ASSERT_TRUE(hello.ok()) << hello.status();
  EXPECT_EQ(hello->versions().at("fake"), "9");
}

}  // namespace
}  // namespace feedrate
