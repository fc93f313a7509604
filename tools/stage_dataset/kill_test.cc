// Kills the program many times: at random moments, and where a pipe holds it
// up, so that the test does not depend on the speed of the machine. Whenever
// there is a sentinel, every byte must be in place; whenever there is none, the
// next run must create it.
//
//   bazel test --test_env=STAGE_KILLS=200 //tools/stage_dataset:kill_test
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/tar/builder.h"
#include "tools/stage_dataset/tool_testing.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Enough for every push, within seconds. FEEDRATE_FULL=1 does more, and
// STAGE_KILLS sets any number.
constexpr int kKills = 20;
constexpr int kFullKills = 250;

int KillsWanted() {
  const char* text = getenv("STAGE_KILLS");
  if (text != nullptr) return atoi(text);
  const char* full = getenv("FEEDRATE_FULL");
  return full != nullptr && std::string(full) == "1" ? kFullKills : kKills;
}

std::string Noise(size_t size, std::mt19937* random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

struct Staged {
  std::string content;
  uint64_t end_offset;  // Where the entry ends in the archive.
};

// Runs the program with `--source=-`, gives it the first `bytes` of the
// archive, and kills it when it has taken them and `ready` returns true. It
// cannot have finished.
void KillWithin(const std::vector<std::string>& argv,
                const std::string& archive, size_t bytes,
                const std::function<bool()>& ready) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t pid = StartProgram(argv, ends[0], out, out, {});
  close(ends[0]);
  close(out);
  for (size_t sent = 0; sent < bytes;) {
    const ssize_t got =
        send(ends[1], archive.data() + sent, bytes - sent, MSG_NOSIGNAL);
    if (got <= 0) break;
    sent += got;
  }
  // Bytes that were sent and not yet read.
  for (int unread = 1; ioctl(ends[1], SIOCOUTQ, &unread) == 0 && unread > 0;) {
    usleep(1000);
  }
  while (!ready()) usleep(1000);
  kill(pid, SIGKILL);
  EXPECT_EQ(WaitForProgram(pid), 128 + SIGKILL);
  close(ends[1]);
}

class KillTest : public testing::Test {
 protected:
  KillTest() : random_(20240229) {
    tar::Builder builder;
    for (int i = 0; i < 400; ++i) {
      const size_t size = i % 97 == 5   ? 1200000
                          : i % 10 == 0 ? 110000
                          : i % 3 == 0  ? 0
                                        : 700;
      const std::string name =
          "d" + std::to_string(i % 7) + "/f" + std::to_string(i);
      const std::string content = Noise(size, &random_);
      builder.File(name, content);
      expected_[name] = {content, builder.bytes().size()};
    }
    // The last entry of a name wins, killed or not.
    builder.File("d0/f0", "the last word");
    expected_["d0/f0"] = {"the last word", builder.bytes().size()};
    archive_ = builder.Finish();
    WriteFile(tar_, archive_);
    sha_ = RunProgram({"sha256sum", tar_}).out.substr(0, 64);
  }

  std::vector<std::string> Arguments() {
    std::vector<std::string> arguments = {ToolPath(), "--dest=" + dest_,
                                          "--sha256=" + sha_};
    arguments.push_back(stream_ ? "--source=-" : "--source=" + tar_);
    if (!sync_) arguments.push_back("--no-sync");
    return arguments;
  }

  pid_t Start() {
    const int in = open(tar_.c_str(), O_RDONLY | O_CLOEXEC);
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t pid = StartProgram(Arguments(), in, out, out, {});
    close(in);
    close(out);
    return pid;
  }

  bool HasSentinel() const {
    return fs::exists(dest_ + "/.stage_dataset.done");
  }

  void ExpectAllBytes() const {
    const auto tree = ReadTree(dest_);
    size_t files = 0;
    for (const auto& [name, content] : tree) {
      if (content == "<folder>" && expected_.count(name) == 0) continue;
      ++files;
      const auto found = expected_.find(name);
      ASSERT_NE(found, expected_.end()) << name;
      ASSERT_TRUE(content == found->second.content) << name;
    }
    ASSERT_EQ(files, expected_.size());
  }

  // The offset up to which, by the journal, everything is written.
  uint64_t JournalOffset() const {
    std::string text = ReadFile(dest_ + "/.stage_dataset.journal");
    text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n'));
    const size_t line = text.rfind('\n');
    return line == std::string::npos ? 0 : atoll(text.c_str() + line + 1);
  }

  // What the journal lists must be correct already. The rest may be anything:
  // the test corrupts it without changing its size, so that a run that trusts
  // sizes is detected.
  void ExpectFinishedAndSpoilTheRest() {
    if (!fs::exists(dest_)) return;
    const uint64_t offset = JournalOffset();
    for (const auto& [name, content] : ReadTree(dest_)) {
      const auto found = expected_.find(name);
      if (found == expected_.end()) continue;
      if (found->second.end_offset <= offset) {
        ASSERT_TRUE(content == found->second.content) << name;
      } else {
        WriteFile(dest_ + "/" + name, std::string(content.size(), '?'));
      }
    }
  }

  TempFolder folder_;
  std::mt19937 random_;
  const std::string tar_ = folder_ / "set.tar";
  const std::string dest_ = folder_ / "dest";
  std::string archive_;
  std::string sha_;
  std::map<std::string, Staged> expected_;
  bool stream_ = false;
  bool sync_ = false;
};

TEST_F(KillTest, GoesOnFromTheJournal) {
  stream_ = true;
  for (const double share : {0.7, 0.9, 0.99}) {
    const auto bytes =
        static_cast<size_t>(share * static_cast<double>(archive_.size()));
    const uint64_t before = JournalOffset();
    KillWithin(Arguments(), archive_, bytes, [&] {
      // The last part of it moves the journal by less than a step.
      return JournalOffset() > (share < 0.8 ? before : 0);
    });
    EXPECT_FALSE(HasSentinel());
    ExpectFinishedAndSpoilTheRest();
    if (HasFatalFailure()) return;
  }
  ASSERT_EQ(WaitForProgram(Start()), 0);
  EXPECT_TRUE(HasSentinel());
  ExpectAllBytes();
}

TEST_F(KillTest, NothingWrongIsEverStaged) {
  const Clock::time_point start = Clock::now();
  ASSERT_EQ(WaitForProgram(Start()), 0);
  const std::chrono::duration<double, std::micro> whole = Clock::now() - start;
  fs::remove_all(dest_);
  double latest = whole.count();
  int kills = 0;
  int finished = 0;
  while (kills < KillsWanted()) {
    const pid_t pid = Start();
    usleep(random_() % static_cast<int>(latest));
    kill(pid, SIGKILL);
    const int code = WaitForProgram(pid);
    ASSERT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
    kills += code != 0;
    if (HasSentinel()) {
      ++finished;
      ExpectAllBytes();
      fs::remove_all(dest_);
      stream_ = !stream_;
      sync_ = finished % 4 == 3;
      latest = whole.count();
    } else {
      ASSERT_NE(code, 0) << "done, and no sentinel";
      ExpectFinishedAndSpoilTheRest();
      // Later and later, so that some kills hit the end: the last data, the
      // sentinel, the journal's removal.
      latest *= 1.15;
    }
    if (HasFatalFailure()) return;
  }
  ASSERT_EQ(WaitForProgram(Start()), 0);
  EXPECT_TRUE(HasSentinel());
  ExpectAllBytes();
  std::cout << kills << " kills, " << finished << " sentinels in between\n";
}

// Names that are written again and again, as files, symbolic links and hard
// links to each other, among files large enough for the journal to move.
std::string ArchiveOfLinks(std::mt19937* random) {
  const std::string names[] = {"a", "b", "c", "d/a", "d/b", "e"};
  std::map<std::string, bool> is_file;
  tar::Builder builder;
  for (int i = 0; i < 150; ++i) {
    const std::string& name = names[(*random)() % 6];
    const std::string& other = names[(*random)() % 6];
    const unsigned kind = (*random)() % 10;
    if (kind < 4 && name != other && is_file[other]) {
      // What is never replaced shows a link to the wrong version.
      const bool kept = kind < 2;
      builder.HardLink(kept ? "links/" + std::to_string(i) : name, other);
      if (!kept) is_file[name] = true;
    } else if (kind == 4) {
      builder.Symlink(name, "e");
      is_file[name] = false;
    } else if (kind < 8) {
      builder.File(name, Noise((*random)() % 3000, random));
      is_file[name] = true;
    } else {
      builder.File("more/" + std::to_string(i),
                   Noise((*random)() % 600000, random));
    }
  }
  return builder.Finish();
}

// The names that are one file, for each file.
std::map<ino_t, std::string> SameFiles(const std::string& folder) {
  std::map<ino_t, std::string> same;
  for (const auto& [name, content] : ReadTree(folder)) {
    struct stat info = {};
    lstat((folder + "/" + name).c_str(), &info);
    if (S_ISREG(info.st_mode)) same[info.st_ino] += name + " ";
  }
  return same;
}

std::set<std::string> Groups(const std::string& folder) {
  std::set<std::string> groups;
  for (const auto& [inode, names] : SameFiles(folder)) groups.insert(names);
  return groups;
}

// The journal lags behind. A hard link must still be to the version that the
// archive has before it, and not to the one that the killed run wrote later.
TEST_F(KillTest, ResumedLinksAreThoseOfAnUninterruptedRun) {
  const int archives = std::max(4, KillsWanted() / 4);
  constexpr int kRounds = 10;
  for (int i = 0; i < archives; ++i) {
    SCOPED_TRACE("archive " + std::to_string(i));
    archive_ = ArchiveOfLinks(&random_);
    WriteFile(tar_, archive_);
    sha_ = RunProgram({"sha256sum", tar_}).out.substr(0, 64);
    const std::string whole = folder_ / "whole";
    const Clock::time_point start = Clock::now();
    const ToolRun run =
        RunTool({"--source=" + tar_, "--dest=" + whole, "--no-sync"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    // A file is read in another way than a stream.
    stream_ = i % 2 == 0;
    for (int round = 0; round < kRounds && !HasSentinel(); ++round) {
      if (stream_) {
        KillWithin(Arguments(), archive_, random_() % archive_.size(),
                   [] { return true; });
        EXPECT_FALSE(HasSentinel());
        continue;
      }
      const pid_t pid = Start();
      usleep(1 + random_() % static_cast<int>(time.count()));
      kill(pid, SIGKILL);
      const int code = WaitForProgram(pid);
      ASSERT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
    }
    ASSERT_EQ(WaitForProgram(Start()), 0);
    ASSERT_TRUE(ReadTree(dest_) == ReadTree(whole));
    ASSERT_EQ(Groups(dest_), Groups(whole));
    fs::remove_all(dest_);
    fs::remove_all(whole);
  }
}

TEST_F(KillTest, OneStagesAndTheOthersWait) {
  std::vector<pid_t> pids;
  const int err = open((folder_ / "err").c_str(),
                       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (int i = 0; i < 6; ++i) {
    pids.push_back(StartProgram(Arguments(), -1, err, err, {}));
  }
  for (pid_t pid : pids) EXPECT_EQ(WaitForProgram(pid), 0);
  close(err);
  const std::string text = ReadFile(folder_ / "err");
  size_t staged = 0;
  for (size_t at = text.find(": staged"); at != std::string::npos;
       at = text.find(": staged", at + 1)) {
    ++staged;
  }
  EXPECT_EQ(staged, 1u) << text;
  ExpectAllBytes();
}

TEST_F(KillTest, AnotherTakesOverFromTheDead) {
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(dest_);
    std::vector<pid_t> pids;
    for (int i = 0; i < 3; ++i) pids.push_back(Start());
    usleep(random_() % 20000);
    kill(pids[round % 3], SIGKILL);
    for (pid_t pid : pids) {
      const int code = WaitForProgram(pid);
      EXPECT_TRUE(code == 0 || pid == pids[round % 3]) << code;
    }
    EXPECT_TRUE(HasSentinel());
    ExpectAllBytes();
  }
}

TEST_F(KillTest, AnInterruptedRunSaysSo) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);  // A source that never delivers.
  stream_ = true;
  for (int number : {SIGINT, SIGTERM}) {
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t pid = StartProgram(Arguments(), ends[0], out, out, {});
    while (!fs::exists(dest_ + "/.stage_dataset.journal")) usleep(1000);
    kill(pid, number);
    EXPECT_EQ(WaitForProgram(pid), 130);
    EXPECT_FALSE(HasSentinel());
    fs::remove_all(dest_);
    close(out);
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace feedrate
