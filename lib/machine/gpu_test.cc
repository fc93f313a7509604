#include "lib/machine/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/machine/visible_gpu.h"

namespace feedrate {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFake[] = "lib/machine/testing/libfake_nvml.so";

GpuSystem ReadFake(const char* mode) {
  setenv("FEEDRATE_FAKE_NVML", mode, 1);
  return ReadGpus({"libno_such_library.so", kFake});
}

TEST(GpuTest, OneH200) {
  const GpuSystem system = ReadFake("h200");
  EXPECT_EQ(system.problem, "");
  EXPECT_EQ(system.driver, "580.65.06");
  EXPECT_EQ(system.cuda, "13.0");
  ASSERT_THAT(system.gpus, SizeIs(1));
  EXPECT_EQ(system.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(system.gpus[0].memory_bytes, int64_t{143771} << 20);
  EXPECT_EQ(system.gpus[0].compute_capability, "9.0");
  EXPECT_EQ(system.gpus[0].power_limit_w, 700.0);
  EXPECT_EQ(system.gpus[0].ecc, true);
  EXPECT_EQ(system.gpus[0].mig, false);
}

TEST(GpuTest, TwoDifferentGpus) {
  const GpuSystem system = ReadFake("two");
  ASSERT_THAT(system.gpus, SizeIs(2));
  EXPECT_EQ(system.gpus[1].name, "NVIDIA L4");
  EXPECT_EQ(system.gpus[1].compute_capability, "8.9");
  EXPECT_EQ(system.gpus[1].ecc, std::nullopt);
}

TEST(GpuTest, DriverWithoutAGpu) {
  const GpuSystem system = ReadFake("none");
  EXPECT_THAT(system.gpus, IsEmpty());
  EXPECT_EQ(system.driver, "580.65.06");
  EXPECT_EQ(system.problem, "");
}

TEST(GpuTest, WhatIsNotSupportedIsLeftOut) {
  const GpuSystem system = ReadFake("sparse");
  EXPECT_EQ(system.problem, "");
  ASSERT_THAT(system.gpus, SizeIs(1));
  EXPECT_EQ(system.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(system.gpus[0].memory_bytes, 0);
  EXPECT_EQ(system.gpus[0].compute_capability, "");
  EXPECT_EQ(system.gpus[0].power_limit_w, std::nullopt);
}

TEST(GpuTest, LibraryThatDoesNotStart) {
  const GpuSystem system = ReadFake("init");
  EXPECT_THAT(system.gpus, IsEmpty());
  EXPECT_THAT(system.problem, HasSubstr("Driver/library version mismatch"));
}

TEST(GpuTest, LostGpuIsAProblem) {
  const GpuSystem system = ReadFake("lost");
  EXPECT_THAT(system.gpus, SizeIs(1));
  EXPECT_THAT(system.problem, HasSubstr("GPU 1: GPU is lost"));
}

TEST(GpuTest, LibraryWithoutTheFunctions) {
  EXPECT_THAT(ReadGpus({"libm.so.6"}).problem, HasSubstr("nvmlInit_v2"));
}

TEST(GpuTest, NoLibraryIsNoProblem) {
  const GpuSystem system = ReadGpus({"libno_such_library.so"});
  EXPECT_THAT(system.gpus, IsEmpty());
  EXPECT_EQ(system.driver, "");
  EXPECT_EQ(system.problem, "");
  EXPECT_EQ(ReadGpus({}).problem, "");
}

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
  EXPECT_EQ(reading->memory_mhz, 3201);
  EXPECT_EQ(reading->temperature_c, 41);
  EXPECT_EQ(reading->power_limit_w, 700.0);
}

TEST(GpuClockTest, OthersAreNeitherThisProcessNorGone) {
  const auto clock = OpenFake("h200");
  ASSERT_TRUE(clock.ok()) << clock.status();
  unsetenv("FEEDRATE_FAKE_OTHERS");
  EXPECT_EQ((*clock)->OthersSince(1)->processes, 0);
  const std::string own = absl::StrCat(getpid(), ":80");
  setenv("FEEDRATE_FAKE_OTHERS", own.c_str(), 1);
  EXPECT_EQ((*clock)->OthersSince(1)->processes, 0);
  // Process 1 is always there. An idle one has memory and nothing else.
  setenv("FEEDRATE_FAKE_OTHERS", absl::StrCat(own, ",1:30,1:20").c_str(), 1);
  const std::optional<GpuOthers> others = (*clock)->OthersSince(1);
  EXPECT_EQ(others->processes, 1);
  EXPECT_DOUBLE_EQ(others->busy, 0.3);
  setenv("FEEDRATE_FAKE_OTHERS", "1:0", 1);
  EXPECT_EQ((*clock)->OthersSince(1)->processes, 0);
  // No process has this number: those of the driver are not those of /proc.
  setenv("FEEDRATE_FAKE_OTHERS", "1:30,2147483000:50", 1);
  EXPECT_FALSE((*clock)->OthersSince(1).has_value());
  unsetenv("FEEDRATE_FAKE_OTHERS");
  EXPECT_FALSE((*OpenFake("sparse"))->OthersSince(1).has_value());
}

TEST(GpuClockTest, ByNumber) {
  setenv("FEEDRATE_FAKE_NVML", "two", 1);
  EXPECT_TRUE(GpuClock::OpenAt({kFake}, 1).ok());
  EXPECT_FALSE(GpuClock::OpenAt({kFake}, 2).ok());
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

TEST(GpuClockLockTest, HoldsUntilItIsGone) {
  unsetenv("FEEDRATE_FAKE_CLOCK_MHZ");
  const auto clock = OpenFake("h200");
  ASSERT_TRUE(clock.ok()) << clock.status();
  {
    const auto lock = GpuClockLock::Lock({kFake}, 0, 1200);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ((*lock)->mhz(), 1200);
    EXPECT_EQ((*clock)->Read()->mhz, 1200);
  }
  EXPECT_EQ((*clock)->Read()->mhz, 1980);
  EXPECT_EQ((*GpuClockLock::Lock({kFake}, 0, 0))->mhz(), 1980) << "the highest";
}

TEST(GpuClockLockTest, ARefusalSaysWhatIsMissing) {
  setenv("FEEDRATE_FAKE_NVML", "h200", 1);
  setenv("FEEDRATE_FAKE_USER", "1", 1);
  const absl::Status refused = GpuClockLock::Lock({kFake}, 0, 0).status();
  unsetenv("FEEDRATE_FAKE_USER");
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("Insufficient Permissions"), HasSubstr("run as root")));
  EXPECT_FALSE(GpuClockLock::Lock({kFake}, 0, 9999).ok());
  EXPECT_FALSE(GpuClockLock::Lock({kFake}, 7, 0).ok());
}

absl::StatusOr<std::unique_ptr<GpuWatch>> StartFake(
    const char* mode, milliseconds interval = milliseconds(1)) {
  setenv("FEEDRATE_FAKE_NVML", mode, 1);
  return GpuWatch::Start({"libno_such_library.so", kFake}, 0, interval);
}

TEST(GpuWatchTest, MeansAndPeaks) {
  setenv("FEEDRATE_FAKE_UTILIZATION", "80,30,10,95", 1);
  std::unique_ptr<GpuWatch> watch;
  GpuUsage use;
  // Wait until there are two readings: on a busy machine a thread may be
  // delayed.
  for (milliseconds wait(50); use.samples < 2 && wait < std::chrono::minutes(1);
       wait *= 2) {
    auto started = StartFake("h200");
    ASSERT_TRUE(started.ok()) << started.status();
    watch = std::move(*started);
    std::this_thread::sleep_for(wait);
    use = watch->Stop();
  }
  EXPECT_GE(use.samples, 2);
  // Means over however many readings there were, each rounded.
  EXPECT_NEAR(use.busy.value(), 0.8, 1e-9);
  EXPECT_NEAR(use.busy_peak.value(), 0.8, 1e-9);
  EXPECT_NEAR(use.memory_busy.value(), 0.3, 1e-9);
  EXPECT_NEAR(use.decoder_busy.value(), 0.1, 1e-9);
  EXPECT_NEAR(use.jpeg_busy.value(), 0.95, 1e-9);
  EXPECT_EQ(use.memory_peak_bytes.value(), int64_t{3} << 30);
  // Stopping twice gives the same.
  EXPECT_EQ(watch->Stop().samples, use.samples);
  unsetenv("FEEDRATE_FAKE_UTILIZATION");
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

std::optional<unsigned> FirstOf(const char* visible_devices) {
  setenv("CUDA_VISIBLE_DEVICES", visible_devices, 1);
  return FirstVisibleGpu({kFake});
}

TEST(GpuWatchTest, TheGpuThatProgramsSee) {
  setenv("FEEDRATE_FAKE_NVML", "h200", 1);
  unsetenv("CUDA_DEVICE_ORDER");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(FirstVisibleGpu({kFake}), 0u);
  EXPECT_EQ(FirstVisibleGpu({"libno_such_library.so"}), 0u);
  EXPECT_EQ(FirstOf("3,1"), 3u);
  EXPECT_EQ(FirstOf("2"), 2u);
  EXPECT_FALSE(FirstOf("").has_value());
  EXPECT_FALSE(FirstOf("-1").has_value());
  EXPECT_FALSE(FirstOf("GPU-0a1b").has_value());
}

// CUDA's number 0 may be the other one.
TEST(GpuWatchTest, OfUnlikeGpusNoneUnlessBothCountByBus) {
  setenv("FEEDRATE_FAKE_NVML", "two", 1);
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  unsetenv("CUDA_DEVICE_ORDER");
  std::string problem;
  const auto warn = [&](const std::string& text) { problem = text; };
  EXPECT_FALSE(FirstVisibleGpu({kFake}, warn).has_value());
  EXPECT_THAT(problem, AllOf(HasSubstr("NVIDIA L4"),
                             HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID")));
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  problem.clear();
  EXPECT_EQ(FirstVisibleGpu({kFake}, warn), 1u);
  EXPECT_EQ(problem, "");
  unsetenv("CUDA_DEVICE_ORDER");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace feedrate
