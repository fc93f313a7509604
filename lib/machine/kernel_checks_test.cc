#include "lib/machine/kernel_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(SwapCheckTest, AnySwapWarns) {
  EXPECT_EQ(CheckSwap({}).status, CheckStatus::kUnknown);
  EXPECT_EQ(CheckSwap({1 << 30, 0, 0}).status, CheckStatus::kOk);
  const Check check = CheckSwap({1 << 30, int64_t{8} << 30, 1 << 29});
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(check.observed, "8.0 GiB, 0.5 GiB in use");
  EXPECT_THAT(check.remedy, HasSubstr("swapoff"));
}

TEST(HugePagesCheckTest, AlwaysWarns) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  FakeRoot files;
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status,
            CheckStatus::kUnknown);
  files.Write("/sys/kernel/mm/ksm/run", "0\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status, CheckStatus::kOk);
  files.Write(path, "[always] madvise never\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status, CheckStatus::kWarn);
  files.Write(path, "always [madvise] never\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status, CheckStatus::kOk);
  files.Write(path, "always madvise [never]\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).observed, "never");
}

TEST(NumaBalancingCheckTest, MattersWithSeveralNodes) {
  FakeRoot files;
  files.Write("/proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(CheckNumaBalancing(files.root(), 1).status, CheckStatus::kOk);
  EXPECT_EQ(CheckNumaBalancing(files.root(), 2).status, CheckStatus::kWarn);
  files.Write("/proc/sys/kernel/numa_balancing", "0\n");
  EXPECT_EQ(CheckNumaBalancing(files.root(), 2).status, CheckStatus::kOk);
}

TEST(AslrCheckTest, OffForAllOrForThisProcess) {
  FakeRoot files;
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kUnknown);
  files.Write("/proc/sys/kernel/randomize_va_space", "2\n");
  const Check check = CheckAslr(files.root());
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_THAT(check.remedy, HasSubstr("setarch -R"));
  files.Write("/proc/self/personality", "00000000\n");
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kWarn);
  files.Write("/proc/self/personality", "00040000\n");
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kOk);
  files.Write("/proc/self/personality", "garbage\n");
  files.Write("/proc/sys/kernel/randomize_va_space", "0\n");
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kOk);
}

TEST(ClockSourceCheckTest, SlowClocksWarn) {
  const std::string path =
      "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  FakeRoot files;
  EXPECT_EQ(CheckClockSource(files.root()).status, CheckStatus::kUnknown);
  for (const char* fast : {"tsc\n", "kvm-clock\n", "arch_sys_counter\n"}) {
    files.Write(path, fast);
    EXPECT_EQ(CheckClockSource(files.root()).status, CheckStatus::kOk) << fast;
  }
  for (const char* slow : {"hpet\n", "acpi_pm\n", "jiffies\n", "xen\n"}) {
    files.Write(path, slow);
    EXPECT_EQ(CheckClockSource(files.root()).status, CheckStatus::kWarn)
        << slow;
  }
}

TEST(VirtualMachineCheckTest, IsWorthKnowing) {
  EXPECT_EQ(CheckVirtualMachine("").status, CheckStatus::kOk);
  EXPECT_EQ(CheckVirtualMachine("kvm").status, CheckStatus::kNote);
  EXPECT_EQ(CheckVirtualMachine("unknown").observed, "yes");
}

}  // namespace
}  // namespace feedrate
