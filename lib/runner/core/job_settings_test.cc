#include "lib/runner/core/job_settings.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job_identity.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MeasurePolicyTest, TheJobGoesBeforeThePolicy) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  auto policy = JobPolicyOf(*catalogue, job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->unit, "image");
  EXPECT_DOUBLE_EQ(policy->preflight.slow_threshold_s, 0.05);
  EXPECT_TRUE(policy->preflight.slow_skip);
  EXPECT_DOUBLE_EQ(policy->warm_up.max_s, 2);
  EXPECT_GT(policy->warm_up.hang_s, 0);
  EXPECT_EQ(policy->preflight.items, 10);
  job.set_slow_threshold_s(1);
  job.set_preflight_items(4);
  job.set_disable_slow_skip(true);
  policy = JobPolicyOf(*catalogue, job, 7);
  EXPECT_EQ(policy->preflight.items, 4);
  EXPECT_DOUBLE_EQ(policy->preflight.slow_threshold_s, 1);
  EXPECT_FALSE(policy->preflight.slow_skip);
  EXPECT_DOUBLE_EQ(policy->warm_up.hang_s, 7);
  EXPECT_EQ(policy->chunk.min_s, 0);
  (*job.mutable_settings())["min_time"] = "0.5";
  EXPECT_DOUBLE_EQ(JobPolicyOf(*catalogue, job, 0)->chunk.min_s, 0.5);
  (*job.mutable_settings())["min_time"] = "-1";
  EXPECT_FALSE(JobPolicyOf(*catalogue, job, 0).ok());
}

TEST(MeasurePolicyTest, ClipsHaveTheirOwn) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("video-16f");
  job.set_mode("micro");
  const auto policy = JobPolicyOf(*catalogue, job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->unit, "clip");
  EXPECT_EQ(policy->preflight.items, 3);
  EXPECT_EQ(policy->warm_up.subset_items, 3);
}

TEST(MeasurePolicyTest, AGpuIsTimedInChunks) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_device("cuda");
  auto policy = JobPolicyOf(*catalogue, job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->chunk.fixed, 64);
  EXPECT_GT(policy->chunk.enough_s, 0);
  EXPECT_EQ(policy->preflight.chunk, policy->preflight.items);
  EXPECT_EQ(policy->preflight.first_items, 1);
  EXPECT_TRUE(policy->warm_up.cold);
  EXPECT_GT(policy->warm_up.clock_within, 0);
  (*job.mutable_settings())["gpu_batch"] = "256";
  (*job.mutable_settings())["l2"] = "hot";
  policy = JobPolicyOf(*catalogue, job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->chunk.fixed, 256);
  EXPECT_EQ(policy->chunk.enough_s, 0) << "a batch is one call";
  EXPECT_EQ(policy->preflight.chunk, 256);
  EXPECT_EQ(policy->preflight.first_items, 256);
  EXPECT_FALSE(policy->warm_up.cold);
  (*job.mutable_settings())["l2"] = "lukewarm";
  EXPECT_FALSE(JobPolicyOf(*catalogue, job, 0).ok());
}

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
  // AlbumentationsX runs on the CPU next to GPU rows.
  job.set_device("cuda");
  job.set_hardware_class("host_cpu");
  EXPECT_FALSE(OnGpu(job));
}

class PrepareCommandTest : public testing::Test {
 protected:
  PrepareCommandTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    job_.set_scenario("image-rgb");
    job_.set_mode("micro");
    job_.set_library("pillow");
    job_.set_transform("Resize");
    job_.set_params_profile("paper");
    job_.set_thread_policy("micro-single");
    job_.set_device("cpu");
  }

  std::unique_ptr<Catalogue> catalogue_;
  Job job_;
};

TEST_F(PrepareCommandTest, TakesTheCataloguesParameters) {
  const auto command = PrepareCommandOfJob(*catalogue_, job_);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->native_op(), "Image.resize");
  EXPECT_THAT(command->params(), Contains(HasSubstr("512")));
  EXPECT_EQ(command->opencv_threads(), 0);
  EXPECT_FALSE(command->opencv_opencl());
  EXPECT_EQ(command->torch_intra_op(), 1);
}

TEST_F(PrepareCommandTest, AJobWithOtherParametersIsRefused) {
  job_.set_params_sha256("0000");
  const absl::Status status = PrepareCommandOfJob(*catalogue_, job_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("plan it again"));
}

TEST_F(PrepareCommandTest, WhatIsMissingIsNamed) {
  job_.set_transform("Rezise");
  EXPECT_THAT(
      std::string(PrepareCommandOfJob(*catalogue_, job_).status().message()),
      HasSubstr("\"Rezise\" is not in the set of image-rgb"));
  job_.set_transform("Resize");
  job_.set_library("cornea");
  EXPECT_THAT(
      std::string(PrepareCommandOfJob(*catalogue_, job_).status().message()),
      HasSubstr("cornea has no Resize"));
}

TEST_F(PrepareCommandTest, TestLibrariesGetTheirSettings) {
  job_.set_library("faulty");
  job_.set_transform("exit");
  (*job_.mutable_settings())["when"] = "call";
  (*job_.mutable_settings())["code"] = "3";
  const auto command = PrepareCommandOfJob(*catalogue_, job_);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->native_op(), "exit");
  EXPECT_THAT(command->params(), ElementsAre("code=3", "when=call"));
}

TEST(NullJobTest, IsOnTheSameDataUnderTheSameSettings) {
  Job job;
  job.set_scenario("image-9ch");
  job.set_mode("micro");
  job.set_library("kornia");
  job.set_transform("Resize");
  job.set_num_items(40);
  job.set_dataset("val");
  job.set_thread_policy("micro-single");
  job.set_params_profile("paper");
  job.set_unsupported_reason("cannot");
  job.add_run_indexes(3);
  job.add_labels("optional");
  const Job null = NullJob(job);
  EXPECT_EQ(null.library(), "null");
  EXPECT_EQ(null.scenario(), "image-9ch");
  EXPECT_EQ(null.num_items(), 40);
  EXPECT_EQ(null.dataset(), "val");
  EXPECT_EQ(null.thread_policy(), "micro-single");
  EXPECT_THAT(null.run_indexes(), ElementsAre(0));
  EXPECT_EQ(null.labels_size(), 0);
  EXPECT_FALSE(null.has_unsupported_reason());
  EXPECT_EQ(null.job_id(), JobId(null));
  EXPECT_EQ(null.output(), "image-9ch/micro/null_micro_results.jsonl");
}

}  // namespace
}  // namespace feedrate
