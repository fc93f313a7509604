#include "lib/machine/available_memory.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

constexpr int64_t kMiB = 1 << 20;

void AddVersion2(FakeRoot* files) {
  files->Write("/proc/self/cgroup", "0::/job\n");
  files->Write("/proc/self/mountinfo",
               "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  files->Write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  files->Write("/sys/fs/cgroup/job/cgroup.controllers", "cpu memory\n");
}

TEST(AvailableMemoryTest, IsWhatTheKernelSaysWithoutALimit) {
  FakeRoot files;
  files.Write("/proc/meminfo", "MemFree: 1 kB\nMemAvailable:    2048 kB\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), 2 * kMiB);
}

TEST(AvailableMemoryTest, IsWhatIsLeftOfALimit) {
  FakeRoot files;
  AddVersion2(&files);
  files.Write("/proc/meminfo", "MemAvailable: 1048576 kB\n");
  files.Write("/sys/fs/cgroup/job/memory.max", "104857600\n");
  files.Write("/sys/fs/cgroup/job/memory.current", "73400320\n");
  files.Write("/sys/fs/cgroup/job/memory.stat",
              "anon 5\ninactive_file 10485760\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), 40 * kMiB);
  // Cache counted twice by the kernel is not taken off twice.
  files.Write("/sys/fs/cgroup/job/memory.stat", "inactive_file 99999999999\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), 100 * kMiB);
  files.Write("/sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), 1024 * kMiB);
}

TEST(AvailableMemoryTest, IsNeverNegative) {
  FakeRoot files;
  AddVersion2(&files);
  files.Write("/sys/fs/cgroup/job/memory.max", "100\n");
  files.Write("/sys/fs/cgroup/job/memory.current", "200\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), 0);
}

TEST(AvailableMemoryTest, IsUnknownWhereNothingIsSaid) {
  FakeRoot files;
  EXPECT_EQ(ReadAvailableMemory(files.root()), std::nullopt);
  files.Write("/proc/meminfo", "MemAvailable: much\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), std::nullopt);
}

TEST(AvailableMemoryTest, ThisMachineHasSome) {
  EXPECT_GT(ReadAvailableMemory(Root()).value_or(0), 0);
}

}  // namespace
}  // namespace feedrate
