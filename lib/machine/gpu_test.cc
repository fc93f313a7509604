#include "lib/machine/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace feedrate {
namespace {

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
}

TEST(GpuTest, TwoDifferentGpus) {
  const GpuSystem system = ReadFake("two");
  ASSERT_THAT(system.gpus, SizeIs(2));
  EXPECT_EQ(system.gpus[1].name, "NVIDIA L4");
  EXPECT_EQ(system.gpus[1].compute_capability, "8.9");
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

}  // namespace
}  // namespace feedrate
