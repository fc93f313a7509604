#include "lib/runner/device_limit.h"

#include <optional>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

DeviceLimitInput Input(std::optional<double> cpu, double engines, double copy,
                       double item_bytes) {
  DeviceLimitInput input;
  input.cpu_items_per_s = cpu;
  input.device.engine_items_per_s = engines;
  input.device.copy_bytes_per_s = copy;
  input.item_bytes = item_bytes;
  return input;
}

TEST(DeviceLimitTest, CpuAndEnginesDecodeTogether) {
  const auto limit = LowestDeviceLimit(Input(8000, 19000, 5e10, 1e5));
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->name(), "jpeg_decode_cpu_and_engine");
  EXPECT_EQ(limit->throughput(), 27000);
  EXPECT_EQ(LowestDeviceLimit(Input(0, 19000, 0, 0))->name(),
            "jpeg_decode_engine");
  EXPECT_EQ(LowestDeviceLimit(Input(8000, 0, 0, 0))->name(), "jpeg_decode");
}

TEST(DeviceLimitTest, TheCopyMayBind) {
  const auto limit = LowestDeviceLimit(Input(8000, 19000, 1e10, 1e6));
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->name(), "host_to_device_copy");
  EXPECT_EQ(limit->throughput(), 10000);
}

TEST(DeviceLimitTest, WhatIsNotKnownLimitsNothing) {
  EXPECT_FALSE(LowestDeviceLimit(Input(std::nullopt, 19000, 0, 0)).has_value());
  EXPECT_FALSE(LowestDeviceLimit(Input(0, 0, 0, 1e5)).has_value());
  EXPECT_EQ(LowestDeviceLimit(Input(std::nullopt, 19000, 1e10, 1e5))->name(),
            "host_to_device_copy");
}

TEST(DeviceLimitTest, LeastBytes) {
  LoaderSpec spec;
  spec.channels = 3;
  spec.crop = 100;
  DeviceLimits none;
  DeviceLimits engines;
  engines.engine_items_per_s = 1;
  EXPECT_EQ(LeastItemBytes(spec, true, 5000, none), 120000);
  EXPECT_EQ(LeastItemBytes(spec, false, 5000, none), 30000);
  EXPECT_EQ(LeastItemBytes(spec, false, 5000, engines), 5000);
  EXPECT_EQ(LeastItemBytes(spec, false, 50000, engines), 30000);
}

}  // namespace
}  // namespace feedrate
