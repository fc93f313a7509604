#include "lib/machine/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace feedrate
