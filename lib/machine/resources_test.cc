#include "lib/machine/resources.h"

#include <gmock/gmock.h>
#include <sys/vfs.h>

#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MemoryTest, ReadsTotalsAndSwapInUse) {
  FakeRoot files;
  files.Write("/proc/meminfo",
              "MemTotal:       65783648 kB\nMemFree:        1 kB\n"
              "SwapCached:            3 kB\n"
              "SwapTotal:       8388604 kB\nSwapFree:        8388600 kB\n");
  const MemoryInfo memory = ReadMemory(files.root());
  EXPECT_EQ(memory.total_bytes, int64_t{65783648} * 1024);
  EXPECT_EQ(memory.swap_bytes, int64_t{8388604} * 1024);
  EXPECT_EQ(memory.swap_used_bytes, 4096);
}

TEST(MemoryTest, AbsentOrGarbledIsZero) {
  FakeRoot files;
  EXPECT_EQ(ReadMemory(files.root()).total_bytes, 0);
  files.Write("/proc/meminfo", "MemTotal: lots\nSwapFree: 5 kB\nSwapTo");
  const MemoryInfo memory = ReadMemory(files.root());
  EXPECT_EQ(memory.total_bytes, 0);
  EXPECT_EQ(memory.swap_bytes, 0);
  EXPECT_EQ(memory.swap_used_bytes, 0);
}

TEST(MemoryTest, ThisMachineHasMemory) {
  EXPECT_GT(ReadMemory(Root()).total_bytes, 0);
}

CgroupFolders Find(absl::string_view mountinfo, absl::string_view groups,
                   absl::string_view controller) {
  FakeRoot files;
  files.Write("/proc/self/mountinfo", mountinfo);
  files.Write("/proc/self/cgroup", groups);
  return FindCgroup(files.root(), controller);
}

constexpr char kCgroup2Mount[] =
    "30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr char kCgroup1Mounts[] =
    "34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "35 33 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

TEST(CgroupFoldersTest, OwnGroupThenParents) {
  const CgroupFolders found =
      Find(kCgroup2Mount, "0::/user.slice/a.scope\n", "cpu");
  EXPECT_EQ(found.version, 2);
  EXPECT_THAT(found.folders,
              ElementsAre("/sys/fs/cgroup/user.slice/a.scope",
                          "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"));
}

TEST(CgroupFoldersTest, Version1HasAGroupForEachController) {
  const std::string groups = "5:memory:/m\n2:cpu,cpuacct:/c\n0::/u\n";
  EXPECT_THAT(Find(kCgroup1Mounts, groups, "cpu").folders,
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/c",
                          "/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_THAT(Find(kCgroup1Mounts, groups, "memory").folders,
              ElementsAre("/sys/fs/cgroup/memory/m", "/sys/fs/cgroup/memory"));
  EXPECT_EQ(Find(kCgroup1Mounts, groups, "memory").version, 1);
}

TEST(CgroupFoldersTest, HybridTakesVersion1WhereItHasTheController) {
  const std::string mounts = std::string(kCgroup1Mounts) +
                             "40 33 0:40 / /sys/fs/cgroup/unified rw - cgroup2 "
                             "cgroup2 rw\n";
  EXPECT_EQ(Find(mounts, "2:cpu,cpuacct:/c\n0::/u\n", "cpu").version, 1);
  const CgroupFolders cpuset = Find(mounts, "2:cpu:/c\n0::/u\n", "cpuset");
  EXPECT_EQ(cpuset.version, 2);
  EXPECT_THAT(cpuset.folders, ElementsAre("/sys/fs/cgroup/unified/u",
                                          "/sys/fs/cgroup/unified"));
}

TEST(CgroupFoldersTest, ContainerSeesTheHostsNameForItsGroup) {
  const CgroupFolders found = Find(
      "9 8 0:31 /docker/f00 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
      "2:cpu:/docker/f00/inner\n", "cpu");
  EXPECT_THAT(found.folders,
              ElementsAre("/sys/fs/cgroup/cpu/inner", "/sys/fs/cgroup/cpu"));
}

TEST(CgroupFoldersTest, GroupOutsideTheMountLeavesTheMount) {
  EXPECT_THAT(Find(kCgroup2Mount, "0::/../other\n", "cpu").folders,
              ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(Find("9 8 0:31 /docker/f00 /cg ro - cgroup2 cgroup2 rw\n",
                   "0::/elsewhere\n", "cpu")
                  .folders,
              ElementsAre("/cg"));
}

TEST(CgroupFoldersTest, MountPointWithASpace) {
  EXPECT_THAT(
      Find("9 8 0:31 / /my\\040cg ro - cgroup2 cgroup2 rw\n", "0::/\n", "cpu")
          .folders,
      ElementsAre("/my cg"));
}

TEST(CgroupFoldersTest, NothingMountedOrGarbled) {
  for (const char* mounts : {"", " - ", "9 8 - cgroup2", "x - y - z",
                             "1 2 3 / / rw - ext4 /dev/sda rw\n"}) {
    const CgroupFolders found = Find(mounts, "garbage\n1:2\n::\n", "cpu");
    EXPECT_EQ(found.version, 0) << mounts;
    EXPECT_THAT(found.folders, IsEmpty());
  }
  EXPECT_THAT(Find(kCgroup2Mount, "garbage\n", "cpu").folders,
              ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(Find(kCgroup2Mount, "0::no/slash\n", "cpu").folders.back(),
              "/sys/fs/cgroup");
}

class CgroupV2Test : public ::testing::Test {
 protected:
  CgroupV2Test() {
    files_.Write("/proc/self/mountinfo",
                 "30 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    files_.Write("/proc/self/cgroup", "0::/a/b/c\n");
  }
  FakeRoot files_;
};

TEST_F(CgroupV2Test, NoLimits) {
  files_.Write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  files_.Write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  const CgroupInfo info = ReadCgroup(files_.root());
  EXPECT_EQ(info.version, 2);
  EXPECT_EQ(info.cpu_quota, std::nullopt);
  EXPECT_EQ(info.memory_limit_bytes, std::nullopt);
  EXPECT_THAT(info.cpus, IsEmpty());
}

TEST_F(CgroupV2Test, TheTightestOfAllAncestorsHolds) {
  files_.Write("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  files_.Write("/sys/fs/cgroup/a/b/cpu.max", "125000 50000\n");
  files_.Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  files_.Write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  files_.Write("/sys/fs/cgroup/a/b/memory.max", "8589934592\n");
  files_.Write("/sys/fs/cgroup/a/memory.max", "4294967296\n");
  const CgroupInfo info = ReadCgroup(files_.root());
  EXPECT_EQ(info.cpu_quota, 2.5);
  EXPECT_EQ(info.memory_limit_bytes, 4294967296);
}

TEST_F(CgroupV2Test, NearestEffectiveCpuset) {
  files_.Write("/sys/fs/cgroup/a/cpuset.cpus.effective", "4-7\n");
  files_.Write("/sys/fs/cgroup/cpuset.cpus.effective", "0-15\n");
  EXPECT_THAT(ReadCgroup(files_.root()).cpus, ElementsAre(4, 5, 6, 7));
}

TEST_F(CgroupV2Test, CountsThrottledPeriods) {
  files_.Write("/sys/fs/cgroup/a/cpu.stat",
               "usage_usec 5\nnr_periods 20\nnr_throttled 17\n");
  EXPECT_EQ(ReadCgroup(files_.root()).throttled_periods, 17);
}

TEST_F(CgroupV2Test, GarbledLimitsAreNone) {
  for (const char* text :
       {"", "max", "100000", "a b", "0 100000", "5 0", "-5 100000", "1 2 3"}) {
    files_.Write("/sys/fs/cgroup/a/b/c/cpu.max", text);
    EXPECT_EQ(ReadCgroup(files_.root()).cpu_quota, std::nullopt) << text;
  }
}

class CgroupV1Test : public ::testing::Test {
 protected:
  CgroupV1Test() {
    files_.Write(
        "/proc/self/mountinfo",
        "34 33 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "35 33 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "36 33 0:33 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
    files_.Write("/proc/self/cgroup", "3:cpuset:/p\n2:memory:/p\n1:cpu:/p/q\n");
  }
  FakeRoot files_;
};

TEST_F(CgroupV1Test, NoLimits) {
  files_.Write("/sys/fs/cgroup/cpu/p/q/cpu.cfs_quota_us", "-1\n");
  files_.Write("/sys/fs/cgroup/cpu/p/q/cpu.cfs_period_us", "100000\n");
  files_.Write("/sys/fs/cgroup/memory/p/memory.limit_in_bytes",
               "9223372036854771712\n");
  const CgroupInfo info = ReadCgroup(files_.root());
  EXPECT_EQ(info.version, 1);
  EXPECT_EQ(info.cpu_quota, std::nullopt);
  EXPECT_EQ(info.memory_limit_bytes, std::nullopt);
}

TEST_F(CgroupV1Test, Limits) {
  files_.Write("/sys/fs/cgroup/cpu/p/cpu.cfs_quota_us", "150000\n");
  files_.Write("/sys/fs/cgroup/cpu/p/cpu.cfs_period_us", "100000\n");
  files_.Write("/sys/fs/cgroup/memory/p/memory.limit_in_bytes", "2147483648\n");
  files_.Write("/sys/fs/cgroup/cpuset/p/cpuset.cpus", "0,2\n");
  const CgroupInfo info = ReadCgroup(files_.root());
  EXPECT_EQ(info.cpu_quota, 1.5);
  EXPECT_EQ(info.memory_limit_bytes, 2147483648);
  EXPECT_THAT(info.cpus, ElementsAre(0, 2));
}

TEST_F(CgroupV1Test, MemoryLimitOfAnInvisibleParent) {
  files_.Write("/sys/fs/cgroup/memory/p/memory.stat",
               "cache 0\nhierarchical_memory_limit 1073741824\n");
  EXPECT_EQ(ReadCgroup(files_.root()).memory_limit_bytes, 1073741824);
}

TEST(CgroupTest, NoneMounted) {
  FakeRoot files;
  const CgroupInfo info = ReadCgroup(files.root());
  EXPECT_EQ(info.version, 0);
  EXPECT_EQ(info.cpu_quota, std::nullopt);
  EXPECT_EQ(info.memory_limit_bytes, std::nullopt);
}

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
  EXPECT_EQ(ReadAvailableMemory(files.root()), int64_t{2} << 20);
}

TEST(AvailableMemoryTest, IsWhatIsLeftOfALimit) {
  FakeRoot files;
  AddVersion2(&files);
  files.Write("/proc/meminfo", "MemAvailable: 1048576 kB\n");
  files.Write("/sys/fs/cgroup/job/memory.max", "104857600\n");
  files.Write("/sys/fs/cgroup/job/memory.current", "73400320\n");
  files.Write("/sys/fs/cgroup/job/memory.stat",
              "anon 5\ninactive_file 10485760\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), int64_t{40} << 20);
  // Cache that the kernel counts twice is not subtracted twice.
  files.Write("/sys/fs/cgroup/job/memory.stat", "inactive_file 99999999999\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), int64_t{100} << 20);
  files.Write("/sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(ReadAvailableMemory(files.root()), int64_t{1024} << 20);
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

// Files of an in-memory file system exist only as pages; nothing can be
// dropped.
bool IsMemoryFileSystem(const std::string& folder) {
  constexpr auto kTmpfs = 0x01021994;
  struct statfs info = {};
  return statfs(folder.c_str(), &info) == 0 && info.f_type == kTmpfs;
}

std::string NewFileOf(const std::string& name, size_t bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, std::string(bytes, 'x')).ok());
  return path;
}

TEST(PageCacheTest, WhatWasReadIsThere) {
  const std::vector<std::string> files = {NewFileOf("a", 100000),
                                          NewFileOf("b", 1)};
  ASSERT_TRUE(ReadPages(files).ok());
  const auto fraction = ResidentFraction(files);
  ASSERT_TRUE(fraction.ok()) << fraction.status();
  EXPECT_EQ(*fraction, 1);
}

TEST(PageCacheTest, WhatWasDroppedIsGone) {
  const std::vector<std::string> files = {NewFileOf("c", 1 << 20)};
  ASSERT_TRUE(DropPages(files).ok());
  const auto fraction = ResidentFraction(files);
  ASSERT_TRUE(fraction.ok()) << fraction.status();
  if (IsMemoryFileSystem(testing::TempDir())) {
    EXPECT_EQ(*fraction, 1) << "a memory file system keeps its pages";
  } else {
    EXPECT_LT(*fraction, 0.05);
  }
}

TEST(PageCacheTest, NothingToReadIsThere) {
  EXPECT_EQ(ResidentFraction({}).value(), 1);
  EXPECT_EQ(ResidentFraction({NewFileOf("empty", 0)}).value(), 1);
}

TEST(PageCacheTest, AMissingFileIsNamed) {
  for (const absl::Status& status :
       {ResidentFraction({"/no/such.jpg"}).status(),
        DropPages({"/no/such.jpg"}), ReadPages({"/no/such.jpg"})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_NE(status.message().find("/no/such.jpg"), std::string::npos);
  }
}

}  // namespace
}  // namespace feedrate
