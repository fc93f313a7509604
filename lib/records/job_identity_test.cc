#include "lib/records/job_identity.h"

#include <set>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

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

// Old result files contain these ids, so they must never change.
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

// The identity is preserved, so the runner computes the same id.
TEST(JobFieldsTest, KeepsTheIdentity) {
  Row row;
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_scope("augmentation_only");
  row.set_library("opencv");
  row.set_transform("Resize");
  row.set_device("cpu");
  row.set_num_items(2000);
  row.set_thread_policy("micro-single");
  row.set_params_profile("paper");
  row.mutable_dataset()->set_id("imagenet");
  row.set_seed(7);
  (*row.mutable_settings())["x"] = "1";
  row.set_params_sha256("ab");
  row.add_labels("per_sample_loop");
  row.add_labels("memory_limited");
  const Job job = JobOfRow(row);
  EXPECT_EQ(
      CanonicalIdentity(job),
      "{\"dataset\":\"imagenet\",\"device\":\"cpu\",\"library\":"
      "\"opencv\",\"mode\":\"micro\",\"num_items\":2000,"
      "\"params_profile\":\"paper\",\"params_sha256\":\"ab\",\"scenario\":"
      "\"image-rgb\",\"scope\":\"augmentation_only\",\"seed\":7,"
      "\"settings\":{\"x\":\"1\"},\"thread_policy\":\"micro-single\","
      "\"transform\":\"Resize\"}");
  EXPECT_THAT(job.labels(), ::testing::ElementsAre("per_sample_loop"));
}

// Every field of a job is in its row or is listed here, so that nobody forgets
// a field that is added to both.
TEST(JobFieldsTest, ARowHasWhatItsJobHas) {
  const std::set<std::string> not_in_rows = {
      "run_indexes", "cost_s", "cost_basis", "output", "unsupported_reason",
      // How it is measured; `run.config` of a row has it.
      "slow_threshold_s", "preflight_items", "disable_slow_skip", "config"};
  Job job;
  const auto* fields = Job::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const auto* field = fields->field(i);
    if (field->is_repeated()) continue;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        job.GetReflection()->SetString(&job, field, field->name());
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        job.GetReflection()->SetInt32(&job, field, 100 + i);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        job.GetReflection()->SetInt64(&job, field, 100 + i);
        break;
      default:
        break;
    }
  }
  (*job.mutable_settings())["prefetch"] = "2";
  job.add_labels("optional");
  Job expected = job;
  for (const std::string& name : not_in_rows) {
    expected.GetReflection()->ClearField(&expected,
                                         fields->FindFieldByName(name));
  }
  EXPECT_EQ(JobOfRow(RowOfJob(job)).DebugString(), expected.DebugString());
}

Job TheJob(const char* mode) {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode(mode);
  job.set_library("kornia");
  job.set_scope("memory_dataloader_augment");
  job.set_device("cpu");
  job.set_num_items(10000);
  job.set_workers(8);
  job.set_batch_size(256);
  return job;
}

TEST(ResultFileNameTest, Micro) {
  EXPECT_EQ(ResultFileName(TheJob("micro"), 1),
            "image-rgb/micro/kornia_micro_results.jsonl");
}

TEST(ResultFileNameTest, PipelineNamesItsSettings) {
  Job job = TheJob("pipeline");
  EXPECT_EQ(ResultFileName(job, 3),
            "image-rgb/pipeline/kornia_memory_dataloader_augment_"
            "n10000_r3_w8_b256_results.jsonl");
  job.set_num_items(0);
  job.set_device("cuda");
  EXPECT_EQ(ResultFileName(job, 1),
            "image-rgb/pipeline/kornia_memory_dataloader_augment_"
            "nall_r1_w8_b256_dev-cuda_results.jsonl");
}

}  // namespace
}  // namespace feedrate
