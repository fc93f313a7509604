#include "lib/adapters/worker/line_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/socket.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace feedrate
