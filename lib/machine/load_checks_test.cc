#include "lib/machine/load_checks.h"

#include <gtest/gtest.h>

namespace feedrate {
namespace {

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
  EXPECT_EQ(CheckCpuPressure({}).status, CheckStatus::kNote);
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

}  // namespace
}  // namespace feedrate
