#include "lib/runner/gpu_settings.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

Job CudaJob() {
  Job job;
  job.set_mode("micro");
  job.set_device("cuda");
  job.set_hardware_class("gpu");
  return job;
}

TEST(GpuSettingsTest, ColdAndOneByOneUnlessSaid) {
  Job job = CudaJob();
  EXPECT_TRUE(OnGpu(job));
  auto settings = GpuSettingsOf(job);
  ASSERT_TRUE(settings.ok());
  EXPECT_TRUE(settings->cold);
  EXPECT_EQ(settings->batch, 0);
  (*job.mutable_settings())["l2"] = "hot";
  (*job.mutable_settings())["gpu_batch"] = "256";
  settings = GpuSettingsOf(job);
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->cold);
  EXPECT_EQ(settings->batch, 256);
}

TEST(GpuSettingsTest, MistakesAreNamed) {
  Job job = CudaJob();
  (*job.mutable_settings())["l2"] = "warm";
  EXPECT_THAT(std::string(GpuSettingsOf(job).status().message()),
              HasSubstr("use cold or hot"));
  (*job.mutable_settings())["l2"] = "hot";
  for (const char* batch : {"0", "-1", "x", ""}) {
    (*job.mutable_settings())["gpu_batch"] = batch;
    EXPECT_THAT(std::string(GpuSettingsOf(job).status().message()),
                HasSubstr("gpu_batch"));
  }
}

TEST(GpuSettingsTest, TheCpuHasNoneOfThem) {
  Job job = CudaJob();
  (*job.mutable_settings())["gpu_batch"] = "8";
  job.set_device("cpu");
  EXPECT_THAT(std::string(GpuSettingsOf(job).status().message()),
              HasSubstr("are for device cuda"));
  job.mutable_settings()->clear();
  EXPECT_TRUE(GpuSettingsOf(job).ok());
  // AlbumentationsX beside GPU rows runs on the CPU.
  job.set_device("cuda");
  job.set_hardware_class("host_cpu");
  EXPECT_FALSE(OnGpu(job));
}

}  // namespace
}  // namespace feedrate
