#include "lib/machine/cgroup_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CgroupFolders Find(absl::string_view mountinfo, absl::string_view groups,
                   absl::string_view controller) {
  FakeRoot files;
  files.Write("/proc/self/mountinfo", mountinfo);
  files.Write("/proc/self/cgroup", groups);
  return FindCgroup(files.root(), controller);
}

constexpr char kV2[] =
    "30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr char kV1[] =
    "34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "35 33 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

TEST(CgroupFoldersTest, OwnGroupThenParents) {
  const CgroupFolders found = Find(kV2, "0::/user.slice/a.scope\n", "cpu");
  EXPECT_EQ(found.version, 2);
  EXPECT_THAT(found.folders,
              ElementsAre("/sys/fs/cgroup/user.slice/a.scope",
                          "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"));
}

TEST(CgroupFoldersTest, Version1HasAGroupForEachController) {
  const std::string groups = "5:memory:/m\n2:cpu,cpuacct:/c\n0::/u\n";
  EXPECT_THAT(Find(kV1, groups, "cpu").folders,
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/c",
                          "/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_THAT(Find(kV1, groups, "memory").folders,
              ElementsAre("/sys/fs/cgroup/memory/m", "/sys/fs/cgroup/memory"));
  EXPECT_EQ(Find(kV1, groups, "memory").version, 1);
}

TEST(CgroupFoldersTest, HybridTakesVersion1WhereItHasTheController) {
  const std::string mounts = std::string(kV1) +
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
  EXPECT_THAT(Find(kV2, "0::/../other\n", "cpu").folders,
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
  EXPECT_THAT(Find(kV2, "garbage\n", "cpu").folders,
              ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(Find(kV2, "0::no/slash\n", "cpu").folders.back(),
              "/sys/fs/cgroup");
}

}  // namespace
}  // namespace feedrate
