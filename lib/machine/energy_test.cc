#include "lib/machine/energy.h"

#include <gtest/gtest.h>

#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

constexpr char kFirst[] = "/sys/class/powercap/intel-rapl:0/energy_uj";

TEST(EnergyTest, AddsPackagesAndSurvivesTheEndOfACounter) {
  FakeRoot fake;
  fake.CopyMachine("epyc_server");
  EnergyMeter meter(fake.root(), nullptr);
  const EnergyUse start = meter.Read();
  ASSERT_TRUE(start.cpu_j.has_value());
  EXPECT_FALSE(start.gpu_j.has_value());
  // 2 J; the core's own counter is part of the package and does not count.
  fake.Write(kFirst, "65531000000");
  EXPECT_DOUBLE_EQ(*EnergyBetween(start, meter.Read()).cpu_j, 2);
  // The counter starts again: 1.610985 J to its end, then 1 J.
  fake.Write(kFirst, "1000000");
  fake.Write("/sys/class/powercap/intel-rapl:1/energy_uj", "5500000");
  EXPECT_NEAR(*EnergyBetween(start, meter.Read()).cpu_j, 2 + 1.610985 + 1 + 0.5,
              1e-9);
}

// It was counted as nothing.
TEST(EnergyTest, ACounterWhoseEndIsNotKnownIsAbsentAfterwards) {
  FakeRoot fake;
  fake.CopyMachine("epyc_server");
  fake.Write("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "");
  EnergyMeter meter(fake.root(), nullptr);
  const EnergyUse start = meter.Read();
  ASSERT_TRUE(start.cpu_j.has_value());
  fake.Write(kFirst, "1000000");
  EXPECT_FALSE(EnergyBetween(start, meter.Read()).cpu_j.has_value());
}

TEST(EnergyTest, WhatIsNotShownIsAbsent) {
  FakeRoot fake;
  fake.CopyMachine("graviton_vm");
  EnergyMeter meter(fake.root(), nullptr);
  EXPECT_FALSE(meter.Read().cpu_j.has_value());
  EXPECT_FALSE(EnergyBetween({}, meter.Read()).cpu_j.has_value());
}

TEST(EnergyTest, AGpuCounts) {
  auto gpu = GpuEnergy::Open({"lib/machine/testing/libfake_nvml.so"}, 0);
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  FakeRoot empty;
  EnergyMeter meter(empty.root(), *std::move(gpu));
  const EnergyUse before = meter.Read();
  EnergyUse after = meter.Read();
  EXPECT_FALSE(EnergyBetween(before, after).gpu_j.has_value())
      << "the counter has not moved since";
  after.at_s = before.at_s + 1;
  EXPECT_DOUBLE_EQ(*EnergyBetween(before, after).gpu_j, 1.5);
}

}  // namespace
}  // namespace feedrate
