#include "lib/machine/gpu_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {
namespace {

using std::chrono::milliseconds;

constexpr char kFake[] = "lib/machine/testing/libfake_nvml.so";

absl::StatusOr<std::unique_ptr<GpuWatch>> StartFake(
    const char* mode, milliseconds interval = milliseconds(1)) {
  setenv("FEEDRATE_FAKE_NVML", mode, 1);
  return GpuWatch::Start({"libno_such_library.so", kFake}, 0, interval);
}

TEST(GpuWatchTest, MeansAndPeaks) {
  setenv("FEEDRATE_FAKE_UTILISATION", "80,30,10,95", 1);
  std::unique_ptr<GpuWatch> watch;
  GpuUsage use;
  // As long as it takes for two readings: a busy machine lets a thread wait.
  for (milliseconds wait(50); use.samples < 2 && wait < std::chrono::minutes(1);
       wait *= 2) {
    auto started = StartFake("h200");
    ASSERT_TRUE(started.ok()) << started.status();
    watch = std::move(*started);
    std::this_thread::sleep_for(wait);
    use = watch->Stop();
  }
  EXPECT_GE(use.samples, 2);
  // Means of as many readings as there was time for, each rounded.
  EXPECT_NEAR(use.busy.value(), 0.8, 1e-9);
  EXPECT_NEAR(use.busy_peak.value(), 0.8, 1e-9);
  EXPECT_NEAR(use.memory_busy.value(), 0.3, 1e-9);
  EXPECT_NEAR(use.decoder_busy.value(), 0.1, 1e-9);
  EXPECT_NEAR(use.jpeg_busy.value(), 0.95, 1e-9);
  EXPECT_EQ(use.memory_peak_bytes.value(), int64_t{3} << 30);
  // And once more.
  EXPECT_EQ(watch->Stop().samples, use.samples);
  unsetenv("FEEDRATE_FAKE_UTILISATION");
}

TEST(GpuWatchTest, WhatIsOverAtOnceIsReadOnce) {
  const auto watch = StartFake("h200", std::chrono::hours(1));
  ASSERT_TRUE(watch.ok()) << watch.status();
  const GpuUsage use = (*watch)->Stop();
  EXPECT_EQ(use.samples, 1);
  EXPECT_DOUBLE_EQ(use.busy.value(), 0.5) << "what the fake says unasked";
}

TEST(GpuWatchTest, WhatCannotBeReadIsAbsent) {
  const auto watch = StartFake("sparse");
  ASSERT_TRUE(watch.ok()) << watch.status();
  const GpuUsage use = (*watch)->Stop();
  EXPECT_FALSE(use.busy.has_value());
  EXPECT_FALSE(use.jpeg_busy.has_value());
  EXPECT_FALSE(use.memory_peak_bytes.has_value());
}

TEST(GpuWatchTest, NoLibraryAndNoSuchGpu) {
  EXPECT_EQ(GpuWatch::Start({"libno_such_library.so"}, 0).status().code(),
            absl::StatusCode::kNotFound);
  setenv("FEEDRATE_FAKE_NVML", "h200", 1);
  EXPECT_EQ(GpuWatch::Start({kFake}, 7).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(GpuWatchTest, TheGpuThatProgramsSee) {
  EXPECT_EQ(FirstVisibleGpu(nullptr), 0u);
  EXPECT_EQ(FirstVisibleGpu("3,1"), 3u);
  EXPECT_EQ(FirstVisibleGpu("2"), 2u);
  EXPECT_FALSE(FirstVisibleGpu("").has_value());
  EXPECT_FALSE(FirstVisibleGpu("-1").has_value());
  EXPECT_FALSE(FirstVisibleGpu("GPU-0a1b").has_value());
}

}  // namespace
}  // namespace feedrate
