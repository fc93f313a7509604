#include "lib/machine/gpu_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<std::unique_ptr<GpuClock>> OpenFake(
    const char* mode, const std::string& bus = "") {
  setenv("FEEDRATE_FAKE_NVML", mode, 1);
  return GpuClock::Open(
      {"libno_such_library.so", "lib/machine/testing/libfake_nvml.so"}, bus);
}

TEST(GpuClockTest, FullClockHasNoReasons) {
  unsetenv("FEEDRATE_FAKE_CLOCK_MHZ");
  const auto clock = OpenFake("h200", "0000:01:00.0");
  ASSERT_TRUE(clock.ok()) << clock.status();
  EXPECT_EQ((*clock)->max_mhz(), 1980);
  const auto reading = (*clock)->Read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->mhz, 1980);
  EXPECT_THAT(ThrottleWords(reading->throttle_reasons), IsEmpty());
}

TEST(GpuClockTest, SlowClockSaysWhy) {
  setenv("FEEDRATE_FAKE_CLOCK_MHZ", "1200", 1);
  const auto clock = OpenFake("h200");
  ASSERT_TRUE(clock.ok()) << clock.status();
  const auto reading = (*clock)->Read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->mhz, 1200);
  EXPECT_THAT(ThrottleWords(reading->throttle_reasons),
              ElementsAre("sw_power_cap", "sw_thermal"));
}

TEST(GpuClockTest, WhatCannotBeReadIsAbsent) {
  const auto clock = OpenFake("sparse");
  ASSERT_TRUE(clock.ok()) << clock.status();
  EXPECT_EQ((*clock)->max_mhz(), 0);
  EXPECT_FALSE((*clock)->Read().has_value());
}

TEST(GpuClockTest, NoLibraryAndNoSuchGpu) {
  EXPECT_EQ(GpuClock::Open({"libno_such_library.so"}, "").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenFake("h200", "0000:99:00.0").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(GpuClockTest, IdleIsNotThrottled) {
  EXPECT_THAT(ThrottleWords(0x13), IsEmpty());
  EXPECT_THAT(ThrottleWords(0x48), ElementsAre("hw_slowdown", "hw_thermal"));
}

}  // namespace
}  // namespace feedrate
