#include "lib/worker/memory_guard.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/machine/root.h"
#include "lib/worker/memory_cgroup.h"

namespace feedrate {
namespace {

// A file system in which process 7 has this much resident memory.
class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuardTest() : folder_(testing::TempDir() + "/memory_guard") {}

  void Write(const std::string& path, const std::string& text) {
    const std::string full = folder_ + path;
    ASSERT_TRUE(MakeFolder(ParentFolder(full)).ok());
    // In place: the guard keeps its file open.
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
