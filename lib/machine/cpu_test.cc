#include "lib/machine/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kV1[] = "fpu cx8 cmov mmx fxsr sse sse2 syscall lm";
constexpr char kV2[] = " pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm";
constexpr char kV3[] = " movbe xsave avx f16c abm bmi1 avx2 bmi2 fma";
constexpr char kV4[] = " avx512f avx512dq avx512cd avx512bw avx512vl";

int LevelOf(const std::string& flags) {
  return ParseCpuInfo(absl::StrCat("processor\t: 0\nflags\t\t: ", flags))
      .x86_64_level;
}

TEST(CpuInfoTest, LevelIsTheHighestThatIsComplete) {
  EXPECT_EQ(LevelOf(kV1), 1);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2)), 2);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, kV3)), 3);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, kV3, kV4)), 4);
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV3, kV4)), 1) << "level 2 is missing";
  EXPECT_EQ(LevelOf(absl::StrCat(kV1, kV2, " avx avx2")), 2);
  EXPECT_EQ(LevelOf("fpu sse2"), 0) << "not a 64-bit processor";
}

TEST(CpuInfoTest, ReadsTheFirstProcessorOnly) {
  const CpuIdentity cpu = ParseCpuInfo(absl::StrCat(
      "processor\t: 0\nmodel name\t: First: with colon\ncpu MHz\t\t: 3100\n",
      "flags\t\t: ", kV1, " hypervisor\n\n",
      "processor\t: 1\nmodel name\t: Second\nflags\t\t: ", kV1, kV2, "\n"));
  EXPECT_EQ(cpu.model, "First: with colon");
  EXPECT_EQ(cpu.architecture, "x86-64");
  EXPECT_EQ(cpu.x86_64_level, 1);
  EXPECT_TRUE(cpu.hypervisor);
}

TEST(CpuInfoTest, ArmCoresAreNamedByNumber) {
  const CpuIdentity cpu = ParseCpuInfo(
      "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
      "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n");
  EXPECT_EQ(cpu.model, "Neoverse-V2");
  EXPECT_EQ(cpu.architecture, "aarch64");
  EXPECT_EQ(cpu.x86_64_level, 0);
  EXPECT_FALSE(cpu.hypervisor);
}

TEST(CpuInfoTest, SignatureHasTheMakersNumbers) {
  EXPECT_EQ(ParseCpuInfo("vendor_id : GenuineIntel\ncpu family : 6\n"
                         "model : 207\nmodel name : Intel(R) Xeon(R) "
                         "Processor\nstepping : 2\n")
                .signature,
            "GenuineIntel-6-207-2");
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\nCPU part : 0xd4f\n"
                         "CPU variant : 0x0\nCPU revision : 1\n")
                .signature,
            "0x41-0xd4f-0x0-1");
  EXPECT_EQ(ParseCpuInfo("processor : 0\n").signature, "");
}

TEST(CpuInfoTest, UnknownArmCoresKeepTheirNumbers) {
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\nCPU part : 0xfff\n").model,
            "ARM-0x41-0xfff");
  EXPECT_EQ(ParseCpuInfo("CPU implementer : 0x41\n").model, "");
}

TEST(CpuInfoTest, OtherArchitecturesGiveTheirOwnName) {
  EXPECT_EQ(ParseCpuInfo("processor : 0\ncpu : POWER9, altivec\n").model,
            "POWER9, altivec");
}

TEST(CpuInfoTest, NothingInNothingOut) {
  for (const char* text : {"", "\n\n", ":", "no colon here", "\0\1\2"}) {
    const CpuIdentity cpu = ParseCpuInfo(text);
    EXPECT_EQ(cpu.model, "");
    EXPECT_EQ(cpu.architecture, "");
    EXPECT_EQ(cpu.x86_64_level, 0);
  }
}

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

TEST(VirtualMachineTest, RecordedMachines) {
  EXPECT_EQ(ReadHypervisor(RecordedMachine("xeon_vm_16")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("graviton_vm")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("container_v1")), "kvm");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("container_v2")), "unknown");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("epyc_server")), "");
  EXPECT_EQ(ReadHypervisor(RecordedMachine("laptop")), "");
}

TEST(VirtualMachineTest, BareMetalOfACloud) {
  FakeRoot files;
  files.CopyMachine("graviton_vm");
  files.Write("/sys/class/dmi/id/product_name", "m8g.metal\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "");
}

TEST(VirtualMachineTest, Xen) {
  FakeRoot files;
  files.Write("/sys/hypervisor/type", "xen\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "xen");
}

TEST(VirtualMachineTest, MicrosoftsProductName) {
  FakeRoot files;
  files.Write("/sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
  files.Write("/sys/class/dmi/id/product_name", "Virtual Machine\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "hyperv");
}

TEST(VirtualMachineTest, SmallHypervisorsShowByTheirDevices) {
  FakeRoot files;
  files.Write("/sys/bus/virtio/devices/virtio0/status", "0x0000000f\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "unknown");
  files.Write(
      "/sys/devices/system/clocksource/clocksource0/available_clocksource",
      "kvm-clock tsc acpi_pm\n");
  EXPECT_EQ(ReadHypervisor(files.root()), "kvm");
}

TEST(VirtualMachineTest, NothingSeen) {
  FakeRoot files;
  EXPECT_EQ(ReadHypervisor(files.root()), "");
}

}  // namespace
}  // namespace feedrate
