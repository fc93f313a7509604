#include "lib/records/job_id.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Job MicroJob() {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_scope("augmentation_only");
  job.set_library("kornia");
  job.set_transform("GaussianBlur");
  job.set_device("cpu");
  job.set_num_items(2000);
  job.set_thread_policy("micro-single");
  job.set_params_profile("paper");
  job.set_dataset("imagenet-val");
  job.set_params_sha256("00ff");
  return job;
}

TEST(JobIdTest, CanonicalFormIsSortedAndLeavesDefaultsOut) {
  EXPECT_EQ(
      CanonicalIdentity(MicroJob()),
      "{\"dataset\":\"imagenet-val\",\"device\":\"cpu\","
      "\"library\":\"kornia\",\"mode\":\"micro\",\"num_items\":2000,"
      "\"params_profile\":\"paper\",\"params_sha256\":\"00ff\","
      "\"scenario\":\"image-rgb\",\"scope\":\"augmentation_only\","
      "\"thread_policy\":\"micro-single\",\"transform\":\"GaussianBlur\"}");
  EXPECT_EQ(CanonicalIdentity(Job()), "{}");
}

TEST(JobIdTest, SettingsAreSorted) {
  Job job;
  (*job.mutable_settings())["prefetch"] = "4";
  (*job.mutable_settings())["cache"] = "cold";
  EXPECT_EQ(CanonicalIdentity(job),
            "{\"settings\":{\"cache\":\"cold\",\"prefetch\":\"4\"}}");
}

// Ids stand in result files of years; these may never change.
TEST(JobIdTest, Golden) {
  Job job = MicroJob();
  EXPECT_EQ(JobId(job), "a14601380f6f3c63");
  job.set_device("cuda");
  EXPECT_EQ(JobId(job), "70b1bf16c0ae4bc9");
  job.set_mode("pipeline");
  job.set_scope("memory_dataloader_augment");
  job.set_batch_size(256);
  job.set_workers(8);
  EXPECT_EQ(JobId(job), "b76bb02fbd506492");
  (*job.mutable_settings())["prefetch"] = "4";
  job.set_seed(-1);
  EXPECT_EQ(JobId(job), "da94c3c22ddacf2e");
  EXPECT_EQ(JobId(Job()), "44136fa355b3678a");
}

TEST(JobIdTest, WhatIsNotIdentityChangesNothing) {
  Job job = MicroJob();
  const std::string id = JobId(job);
  job.set_job_id("x");
  job.add_run_indexes(3);
  job.set_env_group("torch");
  job.set_env_set("current");
  job.set_hardware_class("gpu");
  job.set_cost_s(12);
  job.add_labels("optional");
  job.set_output("file");
  job.set_unsupported_reason("why");
  EXPECT_EQ(JobId(job), id);
}

TEST(JobIdTest, EveryIdentityFieldCounts) {
  std::set<std::string> ids = {JobId(Job())};
  const auto* type = Job::descriptor();
  for (int number = 2; number <= 16; ++number) {
    Job job;
    const auto* field = type->FindFieldByNumber(number);
    if (field->is_map()) {
      (*job.mutable_settings())["k"] = "v";
    } else if (field->type() == field->TYPE_STRING) {
      job.GetReflection()->SetString(&job, field, "v");
    } else if (field->type() == field->TYPE_INT64) {
      job.GetReflection()->SetInt64(&job, field, 1);
    } else {
      job.GetReflection()->SetInt32(&job, field, 1);
    }
    EXPECT_TRUE(ids.insert(JobId(job)).second) << field->name();
  }
}

}  // namespace
}  // namespace feedrate
