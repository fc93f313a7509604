#include "lib/machine/timing_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine whose counters advance while the reader sleeps.
class MovingMachine {
 public:
  // Per sample: ticks of idle and steal time, and the run queue.
  MovingMachine(int idle, int steal, std::vector<int> running)
      : idle_(idle), steal_(steal), running_(std::move(running)) {
    Write();
  }

  LoadSample Sample() {
    return SampleLoad(files_.root(), absl::Seconds(1),
                      [this](absl::Duration slept) {
                        slept_ += slept;
                        ++looks_;
                        Write();
                      });
  }

  absl::Duration slept() const { return slept_; }
  const FakeRoot& files() const { return files_; }

 private:
  void Write() {
    files_.Write("/proc/stat",
                 absl::StrFormat("cpu  10 0 10 %d 0 0 0 %d 5 0\n"
                                 "cpu0 1 1 1 1 1 1 1 1\nprocs_running %d\n",
                                 1000 + idle_ * looks_, 500 + steal_ * looks_,
                                 running_[looks_ % running_.size()]));
  }

  FakeRoot files_;
  const int idle_;
  const int steal_;
  const std::vector<int> running_;
  int looks_ = 0;
  absl::Duration slept_;
};

TEST(LoadTest, QuietMachine) {
  MovingMachine machine(10, 0, {1});
  const LoadSample sample = machine.Sample();
  EXPECT_EQ(sample.steal_share, 0.0);
  EXPECT_EQ(sample.others_running, 0.0);
  EXPECT_EQ(machine.slept(), absl::Seconds(1));
}

TEST(LoadTest, StealIsThatOfTheSampleNotSinceTheStart) {
  MovingMachine machine(9, 1, {1});
  EXPECT_DOUBLE_EQ(*machine.Sample().steal_share, 0.1);
}

TEST(LoadTest, MeanRunQueueWithoutOurselves) {
  MovingMachine machine(10, 0, {1, 3});
  EXPECT_DOUBLE_EQ(*machine.Sample().others_running, 1.0);
  MovingMachine idle(10, 0, {0});
  EXPECT_EQ(idle.Sample().others_running, 0.0);
}

TEST(LoadTest, CountersThatStandStillGiveTheShareSinceTheStart) {
  MovingMachine machine(0, 0, {1});
  EXPECT_DOUBLE_EQ(*machine.Sample().steal_share, 500.0 / 1520.0);
}

TEST(LoadTest, CountersThatGoBack) {
  MovingMachine machine(10, -1, {1});
  EXPECT_EQ(machine.Sample().steal_share, 0.0);
}

TEST(LoadTest, LoadAverageAndPressure) {
  MovingMachine machine(10, 0, {1});
  EXPECT_EQ(machine.Sample().load_1min, std::nullopt);
  machine.files().Write("/proc/loadavg", "1.25 0.10 0.05 1/200 1234\n");
  machine.files().Write("/proc/pressure/cpu",
                        "some avg10=7.50 avg60=0.10 avg300=0 total=1\n");
  EXPECT_EQ(machine.Sample().load_1min, 1.25);
  EXPECT_EQ(machine.Sample().cpu_pressure_percent, 7.5);
}

TEST(LoadTest, AbsentOrGarbledIsNotKnown) {
  FakeRoot files;
  const auto no_sleep = [](absl::Duration) {};
  for (const char* text :
       {"", "cpu ", "cpu 1 2 3", "cpu a b c d e f g h", "cpu 1 1 1 1 1 1 1 -1",
        "cpu 9223372036854775807 9223372036854775807 1 1 1 1 1 1",
        "procs_running x"}) {
    files.Write("/proc/stat", text);
    const LoadSample sample =
        SampleLoad(files.root(), absl::ZeroDuration(), no_sleep);
    EXPECT_EQ(sample.steal_share, std::nullopt) << text;
    EXPECT_EQ(sample.others_running, std::nullopt) << text;
  }
}

constexpr char kCpu[] = "/sys/devices/system/cpu";

TEST(GovernorCheckTest, OnlyPerformanceOnAllIsFine) {
  FakeRoot files;
  const std::string policies = std::string(kCpu) + "/cpufreq/policy";
  files.Write(policies + "0/scaling_governor", "performance\n");
  files.Write(policies + "4/scaling_governor", "performance\n");
  EXPECT_EQ(CheckGovernor(files.root(), "").status, CheckStatus::kOk);
  files.Write(policies + "4/scaling_governor", "schedutil\n");
  const Check check = CheckGovernor(files.root(), "");
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(check.observed, "performance, schedutil");
  EXPECT_THAT(check.remedy, HasSubstr("echo performance"));
}

TEST(GovernorCheckTest, InAGuestTheHostDecides) {
  FakeRoot files;
  const Check guest = CheckGovernor(files.root(), "kvm");
  EXPECT_EQ(guest.status, CheckStatus::kUnknown);
  EXPECT_THAT(guest.why, HasSubstr("host"));
  EXPECT_THAT(CheckGovernor(files.root(), "").why, HasSubstr("firmware"));
}

TEST(TurboCheckTest, IntelSwitch) {
  FakeRoot files;
  const std::string path = std::string(kCpu) + "/intel_pstate/no_turbo";
  files.Write(path, "0\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kUsual);
  EXPECT_THAT(CheckTurbo(files.root(), "").remedy, HasSubstr(path));
  files.Write(path, "1\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kOk);
}

TEST(TurboCheckTest, BoostSwitchOfAllOrOfSome) {
  FakeRoot files;
  files.Write(std::string(kCpu) + "/cpufreq/boost", "0\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kOk);
  files.Write(std::string(kCpu) + "/cpufreq/policy3/boost", "1\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kUsual);
}

TEST(TurboCheckTest, NoSwitch) {
  FakeRoot files;
  EXPECT_EQ(CheckTurbo(files.root(), "kvm").status, CheckStatus::kUnknown);
}

TEST(ThrottlingCheckTest, CountsAllProcessors) {
  FakeRoot files;
  EXPECT_EQ(ReadThrottleCount(files.root()), std::nullopt);
  const std::string cpu0 = std::string(kCpu) + "/cpu0/thermal_throttle/";
  const std::string cpu1 = std::string(kCpu) + "/cpu1/thermal_throttle/";
  files.Write(cpu0 + "core_throttle_count", "2\n");
  files.Write(cpu0 + "package_throttle_count", "3\n");
  files.Write(cpu1 + "core_throttle_count", "5\n");
  files.Write(cpu1 + "package_throttle_count", "garbage\n");
  EXPECT_EQ(ReadThrottleCount(files.root()), 10);
}

TEST(ThrottlingCheckTest, OnlyWhatHappensNowWarns) {
  EXPECT_EQ(CheckThrottling(std::nullopt, 1).status, CheckStatus::kUnknown);
  EXPECT_EQ(CheckThrottling(0, 0).status, CheckStatus::kOk);
  EXPECT_EQ(CheckThrottling(7, 7).status, CheckStatus::kNote);
  EXPECT_EQ(CheckThrottling(7, 8).status, CheckStatus::kWarn);
}

TEST(PowerCheckTest, BatteryInUse) {
  FakeRoot files;
  const std::string supplies = "/sys/class/power_supply/";
  EXPECT_EQ(CheckPower(files.root()).status, CheckStatus::kOk);
  files.Write(supplies + "BAT0/type", "Battery\n");
  files.Write(supplies + "BAT0/status", "Charging\n");
  files.Write(supplies + "hid-mouse/type", "Battery\n");
  files.Write(supplies + "hid-mouse/scope", "Device\n");
  files.Write(supplies + "hid-mouse/status", "Discharging\n");
  EXPECT_EQ(CheckPower(files.root()).status, CheckStatus::kOk);
  files.Write(supplies + "BAT0/status", "Discharging\n");
  EXPECT_EQ(CheckPower(files.root()).status, CheckStatus::kWarn);
  EXPECT_EQ(CheckPower(files.root()).observed, "on battery (BAT0)");
}

TEST(SmtCheckTest, SwitchWinsOverTopology) {
  FakeRoot files;
  EXPECT_EQ(CheckSmt(files.root(), 1).status, CheckStatus::kOk);
  EXPECT_EQ(CheckSmt(files.root(), 2).status, CheckStatus::kNote);
  files.Write(std::string(kCpu) + "/smt/active", "0\n");
  EXPECT_EQ(CheckSmt(files.root(), 2).status, CheckStatus::kOk);
  files.Write(std::string(kCpu) + "/smt/active", "1\n");
  EXPECT_EQ(CheckSmt(files.root(), 2).status, CheckStatus::kNote);
}

LoadSample Load(double steal, double running, double pressure) {
  LoadSample load;
  load.steal_share = steal;
  load.others_running = running;
  load.load_1min = 0.25;
  load.cpu_pressure_percent = pressure;
  return load;
}

TEST(LoadChecksTest, Limits) {
  const LoadSample fine = Load(0.01, 0.49, 4.9);
  EXPECT_EQ(CheckSteal(fine).status, CheckStatus::kOk);
  EXPECT_EQ(CheckRunQueue(fine).status, CheckStatus::kOk);
  EXPECT_EQ(CheckRunQueue(fine).observed, "0.5 others running, load 0.25");
  EXPECT_EQ(CheckCpuPressure(fine).status, CheckStatus::kOk);
  const LoadSample busy = Load(0.011, 0.5, 5.0);
  EXPECT_EQ(CheckSteal(busy).status, CheckStatus::kWarn);
  EXPECT_EQ(CheckSteal(busy).observed, "1.1 % of the time");
  EXPECT_EQ(CheckRunQueue(busy).status, CheckStatus::kWarn);
  EXPECT_EQ(CheckCpuPressure(busy).status, CheckStatus::kWarn);
}

TEST(LoadChecksTest, WhatCannotBeReadIsUnknown) {
  EXPECT_EQ(CheckSteal({}).status, CheckStatus::kUnknown);
  EXPECT_EQ(CheckRunQueue({}).status, CheckStatus::kUnknown);
  EXPECT_EQ(CheckCpuPressure({}).status, CheckStatus::kUnknown);
}

TEST(LoadChecksTest, QuotaThatBinds) {
  CpuInfo cpu;
  cpu.usable_cores = 4;
  CgroupInfo cgroup;
  EXPECT_EQ(CheckCpuQuota(cgroup, cpu).status, CheckStatus::kOk);
  cgroup.cpu_quota = 4.0;
  EXPECT_EQ(CheckCpuQuota(cgroup, cpu).status, CheckStatus::kOk);
  cgroup.cpu_quota = 2.5;
  cgroup.throttled_periods = 31;
  EXPECT_EQ(CheckCpuQuota(cgroup, cpu).status, CheckStatus::kWarn);
  EXPECT_EQ(CheckCpuQuota(cgroup, cpu).observed,
            "2.5 of 4 processors, stopped 31 times");
}

TEST(LoadChecksTest, AffinityIsHeldAgainstWhatTheGroupHas) {
  CpuInfo cpu;
  cpu.usable_cores = 4;
  cpu.online_cores = 8;
  CgroupInfo cgroup;
  EXPECT_EQ(CheckAffinity(cgroup, cpu).status, CheckStatus::kNote);
  cgroup.cpus = {0, 1, 2, 3};
  EXPECT_EQ(CheckAffinity(cgroup, cpu).status, CheckStatus::kOk);
}

TEST(SwapCheckTest, OnlySwapInUseWarns) {
  EXPECT_EQ(CheckSwap({}).status, CheckStatus::kUnknown);
  EXPECT_EQ(CheckSwap({1 << 30, 0, 0}).status, CheckStatus::kOk);
  EXPECT_EQ(CheckSwap({1 << 30, int64_t{8} << 30, 0}).status,
            CheckStatus::kUsual);
  const Check check = CheckSwap({1 << 30, int64_t{8} << 30, 1 << 29});
  EXPECT_EQ(check.status, CheckStatus::kWarn);
  EXPECT_EQ(check.observed, "8.0 GiB, 0.5 GiB in use");
  EXPECT_THAT(check.remedy, HasSubstr("swapoff"));
}

TEST(HugePagesCheckTest, AlwaysIsUsual) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  FakeRoot files;
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status,
            CheckStatus::kUnknown);
  files.Write("/sys/kernel/mm/ksm/run", "0\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status, CheckStatus::kOk);
  files.Write(path, "[always] madvise never\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status,
            CheckStatus::kUsual);
  files.Write(path, "always [madvise] never\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).status, CheckStatus::kOk);
  files.Write(path, "always madvise [never]\n");
  EXPECT_EQ(CheckTransparentHugePages(files.root()).observed, "never");
}

TEST(NumaBalancingCheckTest, MattersWithSeveralNodes) {
  FakeRoot files;
  EXPECT_EQ(CheckNumaBalancing(files.root(), 2).status, CheckStatus::kUnknown);
  files.Write("/proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_EQ(CheckNumaBalancing(files.root(), 1).status, CheckStatus::kOk);
  EXPECT_EQ(CheckNumaBalancing(files.root(), 2).status, CheckStatus::kUsual);
  files.Write("/proc/sys/kernel/numa_balancing", "0\n");
  EXPECT_EQ(CheckNumaBalancing(files.root(), 2).status, CheckStatus::kOk);
}

TEST(AslrCheckTest, OffForAllOrForThisProcess) {
  FakeRoot files;
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kUnknown);
  files.Write("/proc/sys/kernel/randomize_va_space", "2\n");
  const Check check = CheckAslr(files.root());
  EXPECT_EQ(check.status, CheckStatus::kUsual);
  EXPECT_THAT(check.remedy, HasSubstr("setarch -R"));
  files.Write("/proc/self/personality", "00000000\n");
  EXPECT_EQ(CheckAslr(files.root()).status, CheckStatus::kUsual);
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

std::vector<Check> CheckRecorded(const Root& root) {
  return CheckTiming(root, absl::ZeroDuration(), [](absl::Duration) {});
}

std::vector<std::string> Names(const std::vector<Check>& checks,
                               CheckStatus status) {
  std::vector<std::string> names;
  for (const Check& check : checks) {
    if (check.status == status) names.push_back(check.name);
  }
  return names;
}

TEST(TimingChecksTest, TunedServerIsFine) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("epyc_server"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn), IsEmpty());
  EXPECT_THAT(Names(checks, CheckStatus::kUsual), IsEmpty());
  EXPECT_THAT(Names(checks, CheckStatus::kUnknown), ElementsAre("throttling"));
  EXPECT_THAT(Names(checks, CheckStatus::kNote), IsEmpty());
}

TEST(TimingChecksTest, LaptopHasItAll) {
  const std::vector<Check> checks = CheckRecorded(RecordedMachine("laptop"));
  EXPECT_THAT(
      Names(checks, CheckStatus::kWarn),
      ElementsAre("governor", "power", "run_queue", "cpu_pressure", "swap"));
  EXPECT_THAT(Names(checks, CheckStatus::kUsual),
              ElementsAre("turbo", "transparent_huge_pages", "aslr"));
  EXPECT_THAT(Names(checks, CheckStatus::kNote),
              ElementsAre("throttling", "smt"));
}

TEST(TimingChecksTest, CloudMachine) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("xeon_vm_16"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn), IsEmpty());
  EXPECT_THAT(Names(checks, CheckStatus::kUsual),
              ElementsAre("transparent_huge_pages", "aslr"));
  EXPECT_THAT(Names(checks, CheckStatus::kUnknown),
              ElementsAre("governor", "turbo", "throttling"));
  EXPECT_THAT(Names(checks, CheckStatus::kNote),
              ElementsAre("smt", "virtual_machine"));
}

TEST(TimingChecksTest, ContainerWithAQuota) {
  const std::vector<Check> checks =
      CheckRecorded(RecordedMachine("container_v2"));
  EXPECT_THAT(Names(checks, CheckStatus::kWarn), ElementsAre("cpu_quota"));
}

TEST(TimingChecksTest, NothingReadableIsUnknownAndNamesARemedy) {
  FakeRoot files;
  const std::vector<Check> checks = CheckRecorded(files.root());
  EXPECT_THAT(Names(checks, CheckStatus::kUnknown),
              ElementsAre("governor", "turbo", "throttling", "steal",
                          "run_queue", "cpu_pressure", "swap",
                          "transparent_huge_pages", "aslr", "clock_source"));
}

TEST(TimingChecksTest, WhatIsNotOkSaysWhyAndWhatToDo) {
  FakeRoot empty;
  for (const Root& root : {RecordedMachine("laptop"), empty.root()}) {
    for (const Check& check : CheckRecorded(root)) {
      EXPECT_NE(check.observed, "") << check.name;
      EXPECT_EQ(check.why.empty(), check.status == CheckStatus::kOk)
          << check.name;
      EXPECT_EQ(check.remedy.empty(), check.status == CheckStatus::kOk)
          << check.name;
    }
  }
}

TEST(TimingChecksTest, ThisMachine) {
  absl::Duration slept;
  const std::vector<Check> checks =
      CheckTiming(Root(), absl::Milliseconds(100),
                  [&slept](absl::Duration length) { slept += length; });
  EXPECT_EQ(checks.size(), 16);
  EXPECT_EQ(slept, absl::Milliseconds(100));
}

}  // namespace
}  // namespace feedrate
