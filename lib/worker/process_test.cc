#include "lib/worker/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/machine/root.h"
#include "lib/worker/memory_guard.h"

namespace feedrate {
namespace {

class LastWordsTest : public testing::Test {
 protected:
  LastWordsTest() : words_(Open()) {}

  UniqueFd Open() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    write_end_.Reset(ends[1]);
    return UniqueFd(ends[0]);
  }

  void Say(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()), text.size());
    words_.Drain();
  }

  UniqueFd write_end_;
  LastWords words_;
};

TEST_F(LastWordsTest, NothingSaidIsEmpty) {
  words_.Drain();
  EXPECT_EQ(words_.Text(), "");
}

TEST_F(LastWordsTest, KeepsTheLastFiveLines) {
  for (int i = 0; i < 9; ++i) Say("line " + std::to_string(i) + "\n\n");
  Say("no newline");
  EXPECT_EQ(words_.Text(), "line 5 | line 6 | line 7 | line 8 | no newline");
}

TEST_F(LastWordsTest, AFloodIsCutInFront) {
  for (int i = 0; i < 1000; ++i) Say(std::string(1000, 'x'));
  Say("the end");
  const std::string text = words_.Text();
  EXPECT_LT(text.size(), 700);
  EXPECT_EQ(text.substr(text.size() - 7), "the end");
}

TEST(ExitTextTest, SaysHowAProcessEnded) {
  EXPECT_EQ(ExitText(11), "killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(ExitText(6 | 0x80), "killed by SIGABRT (Aborted)");
  EXPECT_EQ(ExitText(3 << 8), "exited with code 3");
  EXPECT_EQ(ExitText(0), "exited with code 0");
}

// A file system in which process 7 has this much resident memory.
class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuardTest() : folder_(testing::TempDir() + "/memory_guard") {}

  void Write(const std::string& path, const std::string& text) {
    const std::string full = folder_ + path;
    ASSERT_TRUE(MakeFolder(ParentFolder(full)).ok());
    // Rewritten in place, because the guard keeps its file open.
    FILE* file = fopen(full.c_str(), "w");
    ASSERT_NE(file, nullptr);
    fputs(text.c_str(), file);
    fclose(file);
  }

  void SetResident(int pid, int64_t anon_kb, int64_t shared_kb) {
    Write("/proc/" + std::to_string(pid) + "/status",
          "Name:\tx\nRssAnon:\t  " + std::to_string(anon_kb) +
              " kB\nRssFile:\t  10 kB\nRssShmem:\t  " +
              std::to_string(shared_kb) + " kB\n");
  }

  std::string folder_;
};

TEST_F(MemoryGuardTest, CountsFromTheStartAndWithoutSharedMemory) {
  SetResident(7, 5000, 100);
  auto guard = GuardMemoryByPolling(Root(folder_), 7, 1 << 20);
  EXPECT_FALSE(guard->Exceeded());
  SetResident(7, 6024, 900000);
  EXPECT_FALSE(guard->Exceeded());
  SetResident(7, 6025, 900000);
  EXPECT_TRUE(guard->Exceeded());
}

TEST_F(MemoryGuardTest, CountsWhatItsChildrenTake) {
  SetResident(7, 5000, 0);
  auto guard = GuardMemoryByPolling(Root(folder_), 7, 1 << 20);
  SetResident(8, 2000, 0);
  Write("/proc/7/task/7/children", "8 ");
  EXPECT_TRUE(guard->Exceeded());
}

TEST_F(MemoryGuardTest, NoLimitNoGuard) {
  EXPECT_EQ(GuardMemory(Root(folder_), 7, 0), nullptr);
}

TEST_F(MemoryGuardTest, NoControllerNoGroup) {
  Write("/proc/self/cgroup", "0::/user.slice/run.scope\n");
  Write("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "cpu pids\n");
  EXPECT_EQ(GuardMemoryByCgroup(Root(folder_), 7, 1 << 20), nullptr);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(GuardMemoryByCgroup(Root(folder_), 7, 1 << 20), nullptr);
}

TEST_F(MemoryGuardTest, AGroupWithoutControlFilesIsNotUsed) {
  Write("/proc/self/cgroup", "0::/user.slice/run.scope\n");
  Write("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "cpu memory\n");
  EXPECT_EQ(GuardMemoryByCgroup(Root(folder_), 7, 1 << 20), nullptr);
}

}  // namespace
}  // namespace feedrate
