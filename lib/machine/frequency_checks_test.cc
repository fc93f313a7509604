#include "lib/machine/frequency_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(guest.status, CheckStatus::kNote);
  EXPECT_THAT(guest.why, HasSubstr("host"));
  EXPECT_THAT(CheckGovernor(files.root(), "").why, HasSubstr("firmware"));
}

TEST(TurboCheckTest, IntelSwitch) {
  FakeRoot files;
  const std::string path = std::string(kCpu) + "/intel_pstate/no_turbo";
  files.Write(path, "0\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kWarn);
  EXPECT_THAT(CheckTurbo(files.root(), "").remedy, HasSubstr(path));
  files.Write(path, "1\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kOk);
}

TEST(TurboCheckTest, BoostSwitchOfAllOrOfSome) {
  FakeRoot files;
  files.Write(std::string(kCpu) + "/cpufreq/boost", "0\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kOk);
  files.Write(std::string(kCpu) + "/cpufreq/policy3/boost", "1\n");
  EXPECT_EQ(CheckTurbo(files.root(), "").status, CheckStatus::kWarn);
}

TEST(TurboCheckTest, NoSwitch) {
  FakeRoot files;
  EXPECT_EQ(CheckTurbo(files.root(), "kvm").status, CheckStatus::kNote);
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
  EXPECT_EQ(CheckThrottling(std::nullopt, 1).status, CheckStatus::kOk);
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

}  // namespace
}  // namespace feedrate
