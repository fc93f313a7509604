#include "lib/adapters/worker/testing/test_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "gtest/gtest.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

absl::Status Write(int fd, std::string line) {
  if (line.empty() || line.back() != '\n') line.push_back('\n');
  return WriteLine(fd, line);
}

}  // namespace

TestChild::TestChild(pid_t pid, int commands, int replies, int errors)
    : pid_(pid),
      commands_(commands),
      replies_(replies),
      errors_(errors),
      reader_(replies) {}

TestChild::~TestChild() {
  HangUp();
  close(replies_);
  close(errors_);
}

void TestChild::Send(const std::string& line) {
  EXPECT_TRUE(Write(commands_, line).ok());
}

absl::StatusOr<std::string> TestChild::Ask(const std::string& line) {
  RETURN_IF_ERROR(Write(commands_, line));
  return Receive();
}

absl::StatusOr<std::string> TestChild::Prepare(
    const std::string& library, const std::string& transform,
    const std::vector<std::string>& params) {
  PrepareCommand command;
  command.set_library(library);
  command.set_transform(transform);
  command.set_native_op(transform);
  *command.mutable_params() = {params.begin(), params.end()};
  return Ask(CommandLine(command));
}

absl::StatusOr<std::string> TestChild::Time(int64_t count, int64_t chunk) {
  TimeCommand command;
  command.set_count(count);
  command.set_chunk(chunk);
  return Ask(CommandLine(command));
}

absl::StatusOr<std::string> TestChild::Outputs(
    const std::vector<int64_t>& indexes) {
  OutputCommand command;
  *command.mutable_indexes() = {indexes.begin(), indexes.end()};
  return Ask(CommandLine(command));
}

void TestChild::HangUp() {
  if (commands_ >= 0) close(commands_);
  commands_ = -1;
}

std::string TestChild::Errors() {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t count = read(errors_, bytes, sizeof(bytes));
    if (count <= 0) return text;
    text.append(bytes, count);
  }
}

TestRunner::TestRunner(std::unique_ptr<Adapter> adapter) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  server_ = fork();
  if (server_ == 0) {
    close(ends[0]);
    const absl::Status status = Serve(ends[1], adapter.get());
    // Only the test itself may run the exit handlers of sanitizers and gtest.
    _exit(status.ok() ? 0 : 1);
  }
  close(ends[1]);
  control_ = ends[0];
  reader_ = std::make_unique<LineReader>(control_);
  const absl::StatusOr<std::string> line = reader_->Next();
  EXPECT_TRUE(line.ok()) << line.status();
  absl::StatusOr<Hello> hello = ParseReply<Hello>(line.value_or(""));
  EXPECT_TRUE(hello.ok()) << hello.status();
  if (hello.ok()) hello_ = *std::move(hello);
}

TestRunner::~TestRunner() { Stop(); }

absl::StatusOr<std::string> TestRunner::Ask(const std::string& line) {
  RETURN_IF_ERROR(Write(control_, line));
  return reader_->Next();
}

std::unique_ptr<TestChild> TestRunner::Spawn(const std::string& library,
                                             const Corpus& corpus) {
  int commands[2], replies[2], errors[2];
  EXPECT_EQ(pipe2(commands, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(replies, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(errors, O_CLOEXEC), 0);
  SpawnCommand request;
  request.set_library(library);
  EXPECT_TRUE(SendWithFds(control_, CommandLine(request),
                          {commands[0], replies[1], errors[1], corpus.fd()}));
  for (int fd : {commands[0], replies[1], errors[1]}) close(fd);
  const absl::StatusOr<std::string> line = reader_->Next();
  const absl::StatusOr<ChildInfo> child =
      ParseReply<ChildInfo>(line.value_or(""));
  EXPECT_TRUE(child.ok()) << child.status();
  return std::make_unique<TestChild>(child.ok() ? child->pid() : -1,
                                     commands[1], replies[0], errors[0]);
}

absl::StatusOr<ChildInfo> TestRunner::Reap(pid_t pid) {
  ReapCommand request;
  request.set_pid(pid);
  ASSIGN_OR_RETURN(const std::string reply, Ask(CommandLine(request)));
  return ParseReply<ChildInfo>(reply);
}

int TestRunner::Stop() {
  if (server_ < 0) return -1;
  close(control_);
  int status = -1;
  waitpid(std::exchange(server_, -1), &status, 0);
  return status;
}

}  // namespace feedrate
