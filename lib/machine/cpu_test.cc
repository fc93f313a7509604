#include "lib/machine/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

TEST(CpuTest, XeonCloudMachine) {
  const CpuInfo cpu = ReadCpu(RecordedMachine("xeon_vm_16"));
  EXPECT_EQ(cpu.model, "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
  EXPECT_EQ(cpu.architecture, "x86-64");
  EXPECT_EQ(cpu.x86_64_level, 4);
  EXPECT_EQ(cpu.usable_cores, 16);
  EXPECT_EQ(cpu.online_cores, 16);
  EXPECT_EQ(cpu.sockets, 1);
  EXPECT_EQ(cpu.threads_per_core, 2);
  EXPECT_EQ(cpu.numa_nodes, 1);
  EXPECT_THAT(cpu.cache_bytes, ElementsAre(48 * kKiB, 2 * kMiB, 105 * kMiB));
  EXPECT_TRUE(cpu.virtual_cpu);
}

TEST(CpuTest, EpycServerWithTwoSockets) {
  const CpuInfo cpu = ReadCpu(RecordedMachine("epyc_server"));
  EXPECT_EQ(cpu.model, "AMD EPYC 9B45 64-Core Processor");
  EXPECT_EQ(cpu.x86_64_level, 4);
  EXPECT_EQ(cpu.online_cores, 256);
  EXPECT_EQ(cpu.usable_cores, 256);
  EXPECT_EQ(cpu.sockets, 2);
  EXPECT_EQ(cpu.threads_per_core, 2);
  EXPECT_EQ(cpu.numa_nodes, 8);
  EXPECT_FALSE(cpu.virtual_cpu);
}

TEST(CpuTest, Graviton) {
  const CpuInfo cpu = ReadCpu(RecordedMachine("graviton_vm"));
  EXPECT_EQ(cpu.model, "Neoverse-V2");
  EXPECT_EQ(cpu.architecture, "aarch64");
  EXPECT_EQ(cpu.x86_64_level, 0);
  EXPECT_EQ(cpu.online_cores, 4);
  EXPECT_EQ(cpu.threads_per_core, 1);
  EXPECT_THAT(cpu.cache_bytes, ElementsAre(64 * kKiB, 2 * kMiB, 36 * kMiB));
}

TEST(CpuTest, LaptopWithTwoKindsOfCores) {
  const CpuInfo cpu = ReadCpu(RecordedMachine("laptop"));
  EXPECT_EQ(cpu.model, "13th Gen Intel(R) Core(TM) i7-1360P");
  EXPECT_EQ(cpu.x86_64_level, 3);
  EXPECT_EQ(cpu.online_cores, 16);
  EXPECT_EQ(cpu.threads_per_core, 2);
  EXPECT_EQ(cpu.sockets, 1);
}

TEST(CpuTest, UsableCoresFollowTheAffinity) {
  FakeRoot files;
  files.CopyMachine("xeon_vm_16");
  files.Write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t2-3,9\n");
  EXPECT_THAT(ReadAffinity(files.root()), ElementsAre(2, 3, 9));
  EXPECT_EQ(ReadCpu(files.root()).usable_cores, 3);
  EXPECT_EQ(ReadCpu(files.root()).online_cores, 16);
}

TEST(CpuTest, AffinityNamesProcessorsThatAreNotThere) {
  FakeRoot files;
  files.CopyMachine("xeon_vm_16");
  files.Write("/proc/self/status", "Cpus_allowed_list:\t0-511\n");
  EXPECT_EQ(ReadCpu(files.root()).usable_cores, 16);
}

TEST(CpuTest, WithoutSysTheProcessorsOfCpuInfoCount) {
  FakeRoot files;
  files.Write("/proc/cpuinfo",
              "processor\t: 0\nmodel name\t: X\n\nprocessor\t: 1\n");
  const CpuInfo cpu = ReadCpu(files.root());
  EXPECT_EQ(cpu.model, "X");
  EXPECT_EQ(cpu.online_cores, 2);
  EXPECT_EQ(cpu.usable_cores, 2);
  EXPECT_EQ(cpu.sockets, 1);
  EXPECT_EQ(cpu.threads_per_core, 1);
  EXPECT_EQ(cpu.numa_nodes, 1);
  EXPECT_THAT(cpu.cache_bytes, IsEmpty());
}

TEST(CpuTest, EmptyRoot) {
  FakeRoot files;
  const CpuInfo cpu = ReadCpu(files.root());
  EXPECT_EQ(cpu.model, "");
  EXPECT_EQ(cpu.online_cores, 0);
  EXPECT_EQ(cpu.usable_cores, 0);
}

TEST(CpuTest, ThisMachineAgreesWithTheSystemCalls) {
  const CpuInfo cpu = ReadCpu(Root());
  EXPECT_EQ(cpu.online_cores, sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(cpu.usable_cores, CPU_COUNT(&allowed));
}

}  // namespace
}  // namespace feedrate
